/// The retry time of an entry that waits after a 5xx response without a Retry-After. Only such a
/// time ends in 999 ms, so `bringBack` can find it when APNs recovers.
enum ParkedTime {
  /// It is not further ahead than this.
  static let longestMS: Int64 = 1_000_000

  static func of(_ time: Int64, isGuess: Bool) -> Int64 {
    let isMarked = time % 1000 == 999
    if isGuess { return time - time % 1000 + 999 }
    return isMarked ? time + 1 : time
  }
}
