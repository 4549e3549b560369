/// What a peer sent that came to nothing for the session: records which TLS keeps to itself, such
/// as tickets and new keys. A peer has to send some, and may not go on with it.
struct IdleBytes {
  private var count = 0
  /// When some of it was last forgotten.
  private var forgottenAt: Int64 = 0

  /// As much may come at once: dozens of tickets, some thousand new keys.
  private static var most: Int { 128 << 10 }
  /// As much makes a handshake: OpenSSL takes a chain of 100 KB.
  private static var mostOfHandshake: Int { 512 << 10 }
  /// So much is forgotten each second.
  private static var perSecond: Int64 { 1 << 10 }
  /// What a record takes beside what it carries, by any of TLS's ciphers.
  private static var overhead: Int { 512 }

  /// So many bytes were read, and so many of them are for the session. With read-ahead the ones
  /// may come calls before the others.
  @inline(__always)
  mutating func read(_ bytes: Int, of carried: Int) {
    count &+= bytes &- carried
    if carried > 0 { count = max(0, count &- Self.overhead) }
  }

  /// It is more than a handshake.
  var isFloodOfHandshakes: Bool { count > Self.mostOfHandshake }

  /// It is more than can be meant.
  var isFlood: Bool {
    @inline(__always) mutating get { count > Self.most && remains(at: Deadline.now) }
  }

  @inline(never)
  private mutating func remains(at now: Int64) -> Bool {
    let seconds = (now &- forgottenAt) / 1_000_000_000
    if seconds > 0 {
      count &-= Int(clamping: min(seconds, 1 << 20) &* Self.perSecond)
      forgottenAt = now
    }
    count = max(0, count)
    return count > Self.most
  }
}
