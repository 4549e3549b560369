/// A time that comes at another moment in each time zone: of a day, such as 2026-12-24T09:00, or the
/// next one, such as 9:00.
package struct LocalTime: Equatable, Sendable {
  /// What a clock shows at the start of the day; nil for the next such time.
  private let day: Int64?
  /// After the start of the day.
  private let seconds: Int64

  package init?(_ text: String) {
    let parts = text.split(separator: "T", omittingEmptySubsequences: false)
    guard parts.count <= 2, let seconds = ZoneClock.seconds(String(parts[parts.count - 1])) else {
      return nil
    }
    self.seconds = seconds
    guard parts.count == 2 else {
      day = nil
      return
    }
    guard let day = Campaign.due(at: "\(parts[0])T00:00:00Z") else { return nil }
    self.day = day / 1000
  }

  package static func fault(_ text: String) -> String {
    "must be a time without a zone, such as 9:00 or 2026-12-24T09:00, not '\(text)'"
  }

  /// When it comes, in UNIX milliseconds.
  func due(by clock: ZoneClock, at now: Int64) -> Int64 {
    if let day { return clock.times(of: day + seconds).lowerBound * 1000 }
    let today = clock.day(at: now / 1000)
    for days in 0...2 {
      let time = clock.times(of: today + Int64(days) * ZoneClock.day + seconds).lowerBound * 1000
      if time >= now { return time }
    }
    return now
  }
}
