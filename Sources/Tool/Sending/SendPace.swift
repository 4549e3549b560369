import Simulator

/// When the next notification is due, by `--rate` or as in a recording.
struct SendPace {
  let rate: Double?
  let replayed: [Recording.Push]
  let speed: Double
  private var next = 0.0
  private var began: Double?

  init(rate: Double?, replayed: [Recording.Push], speed: Double) {
    self.rate = rate
    self.replayed = replayed
    self.speed = speed
  }

  /// Nil if nothing limits the pace.
  mutating func due(_ number: Int) -> Double? {
    if !replayed.isEmpty {
      let first = began ?? Clock.now
      began = first
      return first + Double(replayed[number - 1].at) / 1000 / speed
    }
    guard let rate else { return nil }
    // A delay is not compensated by a burst.
    let due = max(next, Clock.now - 0.05)
    next = due + 1 / rate
    return due
  }
}
