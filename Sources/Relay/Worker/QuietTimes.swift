/// When the `bulk` lane of an app waits, by the clock of a time zone. If the clock goes back over an
/// end of the hours, they begin at the first such time, and end at the last.
struct QuietTimes {
  private let clock: ZoneClock
  private let from: Int64
  private let to: Int64
  /// The last answer, and the times (UNIX seconds) for which it holds.
  private var known: (isQuiet: Bool, times: Range<Int64>) = (false, 0..<0)

  /// nil without quiet hours.
  init?(_ hours: AppConfiguration.QuietHours) {
    guard let from = hours.from.flatMap(ZoneClock.seconds),
      let to = hours.to.flatMap(ZoneClock.seconds),
      let clock = try? hours.timezone.map({ try ZoneClock($0) })
    else { return nil }
    (self.clock, self.from, self.to) = (clock, from, to)
  }

  /// When the hours of now end, in UNIX seconds; nil if they are not now.
  mutating func end(at now: Int64) -> Int64? {
    if !known.times.contains(now) { known = look(at: now) }
    return known.isQuiet ? known.times.upperBound : nil
  }

  private func look(at now: Int64) -> (Bool, Range<Int64>) {
    let today = clock.day(at: now)
    var last = now
    for days in Int64(-2)...2 {
      let day = today + days * ZoneClock.day
      let begin = clock.times(of: day + from).lowerBound
      let end = clock.times(of: day + to + (to <= from ? ZoneClock.day : 0)).upperBound
      if now < begin { return (false, min(last, now)..<begin) }
      if now < end { return (true, begin..<end) }
      last = end
    }
    return (false, now..<now + 1)
  }
}
