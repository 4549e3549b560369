/// Credential rotation in a running session. A connection with old credentials accepts no new
/// notifications. Its notifications are proven, as at a checkpoint, and only then the next
/// connection writes.
extension BinarySession where Net: ~Copyable {
  /// The network's next connections show other credentials than those it has.
  mutating func replaceConnections() {
    for index in 0..<options.connections {
      let channel = channels + index
      dropSpare(channel)
      switch channel.pointee.phase {
      case .closed: break
      case .opening: close(channel)
      case .open:
        channel.pointee.holds.insert(.replaced)
        if !channel.pointee.window.hasInFlight, hasWrittenLast(channel) {
          close(channel)
        } else {
          channel.pointee.wantsProof = true
          // The next connection is made meanwhile.
          channel.pointee.expectsEnd = true
        }
      }
    }
    if options.neverWaits { hurry() }
  }

  /// Bytes that a connection may still write although it accepts no more notifications.
  @inline(never)
  func leftToWrite(_ channel: UnsafeMutablePointer<BinaryChannel>) -> Int {
    guard channel.pointee.holds == .replaced, !channel.pointee.sentinel.isBegun else { return 0 }
    // TLS was given a record before, and has to be given the same bytes again.
    if channel.pointee.connection.stalledSince != nil {
      return channel.pointee.stalledRecord
    }
    return channel.pointee.window.restOfFrame
  }

  /// The connection is being replaced and has written a whole frame, its last bytes.
  @inline(never)
  func hasWrittenLast(_ channel: UnsafeMutablePointer<BinaryChannel>) -> Bool {
    channel.pointee.holds.contains(.replaced) && !channel.pointee.sentinel.isBegun
      && channel.pointee.connection.stalledSince == nil && channel.pointee.window.restOfFrame == 0
  }
}
