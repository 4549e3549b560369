/// The number of notifications in each of the last sixty seconds.
package struct LastMinute: Sendable {
  package struct Second: Sendable, Equatable {
    package var accepted = 0
    package var rejected = 0
    /// Discarded and ignored notifications.
    package var other = 0
  }

  package static let length = 60

  /// Indexed by UNIX second modulo sixty; `time` is the element's second.
  private var places = [(time: Int64, second: Second)](
    repeating: (.min, Second()), count: length)

  private static func place(of time: Int64) -> Int {
    let rest = Int(time % Int64(length))
    return rest < 0 ? rest + length : rest
  }

  mutating func add(_ recentPush: RecentPush) {
    let time = recentPush.time / 1000
    let place = Self.place(of: time)
    // Batches of several connections may come a little late, but never a minute.
    if time < places[place].time { return }
    if time > places[place].time { places[place] = (time, Second()) }
    switch recentPush.outcome {
    case .accepted: places[place].second.accepted += 1
    case .rejected: places[place].second.rejected += 1
    case .discarded, .ignored: places[place].second.other += 1
    }
  }

  /// The sixty seconds up to `now`, the oldest first.
  func seconds(until now: Int64) -> [Second] {
    (0..<Int64(Self.length)).map { index in
      let time = now - Int64(Self.length) + 1 + index
      let kept = places[Self.place(of: time)]
      return kept.time == time ? kept.second : Second()
    }
  }
}
