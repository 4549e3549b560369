import CAPNS

/// Resolves notifications at their deadline.
extension BinarySession where Net: ~Copyable {
  /// Nothing has to have its end before; `max`: nothing ever.
  var nextDeadline: Nanoseconds {
    var next = Nanoseconds.max
    for index in 0..<options.connections {
      next = min(next, channels[index].window.nextDeadline)
    }
    return next
  }

  @inline(never)
  mutating func expire() {
    for index in 0..<options.connections where channels[index].window.nextDeadline < .max {
      let now = network.now
      if now >= channels[index].window.nextDeadline { hearAndEndDue(channels + index, at: now) }
    }
  }

  @inline(never)
  private mutating func hearAndEndDue(
    _ channel: UnsafeMutablePointer<BinaryChannel>, at now: Nanoseconds
  ) {
    do throws(Failure) {
      // The process may have been suspended since the last look: what came until then counts.
      if channel.pointee.window.hasInFlight { try receive(channel) }
    } catch {
      trouble.note(error)
    }
    endDue(channel, at: now)
    // Notifications that were resolved may have kept others from being written.
    isCutShort = true
  }

  /// Waiting notifications are not written when they are due.
  @inline(__always)
  mutating func expireWaiting(_ channel: UnsafeMutablePointer<BinaryChannel>) {
    guard channel.pointee.window.hasUnwritten, channel.pointee.window.nextDeadline < .max else {
      return
    }
    let now = network.lately
    if now >= channel.pointee.window.nextDeadline { endDue(channel, at: now, onlyWaiting: true) }
  }

  @inline(never)
  private mutating func endDue(
    _ channel: UnsafeMutablePointer<BinaryChannel>, at now: Nanoseconds, onlyWaiting: Bool = false
  ) {
    let hadInFlight = channel.pointee.window.hasInFlight
    let (expired, unknown) = (channel.pointee.window.expired, channel.pointee.window.unknown)
    channel.pointee.window.expire(
      at: now, onlyWaiting: onlyWaiting, pending: channel.pointee.pending)
    let safe = channel.pointee.window.expired &- expired
    let inDoubt = channel.pointee.window.unknown &- unknown
    if safe &+ inDoubt > 0 { log?.at(now).due(safe: safe, inDoubt: inDoubt) }
    guard hadInFlight, !onlyWaiting else { return }
    channel.pointee.hasUnproven = true
    reconnects.ended(nil, otherwise: "it was not proven before its deadline")
    guard !channel.pointee.window.hasInFlight, !channel.pointee.sentinel.isBegun else { return }
    // There is nothing left to prove.
    channel.pointee.quietMark = nil
    if hasWrittenLast(channel) { return close(channel) }
    provenByQuiet(channel)
  }
}
