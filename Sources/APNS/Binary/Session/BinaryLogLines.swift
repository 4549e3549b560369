import CAPNS

/// Log lines that only binary sessions have.
extension BinarySession where Net: ~Copyable {
  typealias ResentCounts = (resent: UInt64, unknown: UInt64)

  private func counts(_ channel: UnsafeMutablePointer<BinaryChannel>) -> ResentCounts {
    (channel.pointee.window.resent, channel.pointee.window.unknown)
  }

  /// The connection is about to be closed without an error packet that resolves anything.
  func logEnd(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ failure: Failure?
  ) -> ResentCounts? {
    guard let log else { return nil }
    log.at(network.now).ended(
      channel.pointee.connection, failure, inFlight: channel.pointee.window.inFlight)
    return counts(channel)
  }

  /// The gateway sent an error packet, which ended the connection.
  func logAnswer(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ packet: ErrorPacket
  ) -> ResentCounts? {
    guard let log else { return nil }
    let isShutdown = packet.status == ErrorPacket.shutdown
    let line = LogLine(
      isShutdown ? APNS_LOG_KIND_GOAWAY : APNS_LOG_KIND_FRAME,
      isShutdown ? APNS_LOG_NOTICE : APNS_LOG_TRACE, on: channel.pointee.connection.serial)
    if log.at(network.now).begin(line) {
      let what: StaticString =
        isShutdown ? "the gateway shuts down: status " : "< error packet, status "
      log.pointee.words.append(what)
      log.pointee.words.append(UInt32(packet.status))
      log.pointee.words.append(", notification ")
      log.pointee.words.append(packet.identifier)
      log.put()
    }
    return counts(channel)
  }

  @inline(never)
  func logResent(
    _ channel: UnsafeMutablePointer<BinaryChannel>, since counts: ResentCounts?
  ) {
    guard let log, let counts else { return }
    log.resent(
      channel.pointee.window.resent &- counts.resent,
      unknown: channel.pointee.window.unknown &- counts.unknown,
      on: channel.pointee.connection.serial)
  }

  /// `count` more bytes are written. Logs which frames the connection now has in full.
  @inline(never)
  func logFrames(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ count: Int
  ) {
    guard let log, log.pointee.says(APNS_LOG_TRACE) else { return }
    var position = channel.pointee.window.written
    let end = channel.pointee.window.written(and: count)
    while position < end {
      let frame = channel.pointee.window.frame(position)
      if log.at(network.now).begin(
        LogLine(APNS_LOG_KIND_FRAME, APNS_LOG_TRACE, on: channel.pointee.connection.serial))
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
