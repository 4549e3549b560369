/// Counts a peer's bytes that carried nothing for the session: TLS records that TLS handles itself,
/// such as tickets and key updates. A peer must send some of them, but may not keep sending them.
struct IdleBytes {
  private var count = 0
  /// When the count was last lowered for time that passed.
  private var forgottenAt: Nanoseconds = 0

  /// This much may come at once: two dozen tickets, or 1,500 key updates, which take a session about
  /// 0.1 s of CPU.
  private static var maximum: Int { 48 << 10 }
  /// A handshake may take this much: OpenSSL accepts a certificate chain of 100 KB.
  private static var maxOfHandshake: Int { 512 << 10 }
  /// The count falls by this much each second.
  private static var perSecond: Int64 { 1 << 10 }
  /// The most that a TLS record takes besides its content, with any TLS cipher.
  private static var overhead: Int { 512 }

  /// Notes that `bytes` were read, `carried` of them for the session. With read-ahead, bytes
  /// may be read some calls before their content is handed on.
  @inline(__always)
  mutating func read(_ bytes: Int, of carried: Int) {
    count &+= bytes &- carried
    if carried > 0 { count = max(0, count &- Self.overhead) }
  }

  /// More came than a handshake needs.
  var isFloodOfHandshakes: Bool { count > Self.maxOfHandshake }

  /// More came than an honest peer sends.
  var isFlood: Bool {
    @inline(__always) mutating get { count > Self.maximum && remains(at: Deadline.now) }
  }

  @inline(never)
  private mutating func remains(at now: Nanoseconds) -> Bool {
    let seconds = (now &- forgottenAt) / 1_000_000_000
    if seconds > 0 {
      count &-= Int(clamping: min(seconds, 1 << 20) &* Self.perSecond)
      forgottenAt = now
    }
    count = max(0, count)
    return count > Self.maximum
  }
}
