import CAPNS

/// Log lines that only binary sessions have.
extension BinarySession where Net: ~Copyable {
  typealias ResentCounts = (resent: UInt64, unknown: UInt64)

  private func counts(_ connection: UnsafeMutablePointer<BinaryConnection>) -> ResentCounts {
    (connection.pointee.window.resent, connection.pointee.window.unknown)
  }

  /// The connection is about to be closed without an error packet that resolves anything.
  func logEnd(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ failure: Failure?
  ) -> ResentCounts? {
    guard let log else { return nil }
    log.at(network.now).ended(
      connection.pointee.link, failure, inFlight: connection.pointee.window.inFlight)
    return counts(connection)
  }

  /// The gateway sent an error packet, which ended the connection.
  func logAnswer(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ packet: ErrorPacket
  ) -> ResentCounts? {
    guard let log else { return nil }
    let isShutdown = packet.status == ErrorPacket.shutdown
    let line = LogLine(
      isShutdown ? APNS_LOG_KIND_GOAWAY : APNS_LOG_KIND_FRAME,
      isShutdown ? APNS_LOG_NOTICE : APNS_LOG_TRACE, on: connection.pointee.link.serial)
    if log.at(network.now).begin(line) {
      let what: StaticString =
        isShutdown ? "the gateway shuts down: status " : "< error packet, status "
      log.pointee.words.append(what)
      log.pointee.words.append(UInt32(packet.status))
      log.pointee.words.append(", notification ")
      log.pointee.words.append(packet.identifier)
      log.put()
    }
    return counts(connection)
  }

  @inline(never)
  func logResent(
    _ connection: UnsafeMutablePointer<BinaryConnection>, since counts: ResentCounts?
  ) {
    guard let log, let counts else { return }
    log.resent(
      connection.pointee.window.resent &- counts.resent,
      unknown: connection.pointee.window.unknown &- counts.unknown,
      on: connection.pointee.link.serial)
  }

  /// `count` more bytes are written. Logs which frames the connection now has in full.
  @inline(never)
  func logFrames(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ count: Int
  ) {
    guard let log, log.pointee.says(APNS_LOG_TRACE) else { return }
    var position = connection.pointee.window.written
    let end = connection.pointee.window.written(and: count)
    while position < end {
      let frame = connection.pointee.window.frame(position)
      if log.at(network.now).begin(
        LogLine(APNS_LOG_KIND_FRAME, APNS_LOG_TRACE, on: connection.pointee.link.serial))
      {
        log.pointee.words.append("> notification ")
        log.pointee.words.append(frame.identifier)
        log.pointee.words.append(" to ")
        log.pointee.words.append(token: FrameEncoder.token(of: frame.bytes, as: options.command))
        log.pointee.words.append(", ")
        log.pointee.words.append(frame.bytes.count)
        log.pointee.words.append(" bytes")
        log.put()
      }
      position &+= 1
    }
  }
}
