import Foundation

/// The clock of a time zone. When it goes forward it skips times, and when it goes back it shows some
/// twice. All times are seconds; what it shows is a UNIX time as if it was that of UTC.
struct ZoneClock: Equatable, Sendable {
  private let zone: TimeZone

  init(_ name: String) throws {
    if let zone = TimeZone(identifier: name) {
      self.zone = zone
    } else if TimeZone(identifier: "Europe/Berlin") == nil {
      throw RelayFault("this build of the relay has no time zones, so '\(name)' is unknown")
    } else {
      throw RelayFault("there is no time zone '\(name.prefix(40))', only such as Europe/Berlin")
    }
  }

  func shown(at time: Int64) -> Int64 { time + ahead(at: time) }

  private func ahead(at time: Int64) -> Int64 {
    Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time))))
  }

  /// No clock is further from UTC.
  private static let mostAhead: Int64 = 15 * 3600

  /// The first and the last time at which it shows this. If it skips that, both are the time when it
  /// goes forward.
  func times(of shown: Int64) -> ClosedRange<Int64> {
    var (early, late) = (shown - Self.mostAhead, shown + Self.mostAhead)
    let (before, after) = (ahead(at: early), ahead(at: late))
    let times = [shown - before, shown - after].filter { self.shown(at: $0) == shown }
    if let first = times.min(), let last = times.max() { return first...last }
    while early + 1 < late {
      let middle = (early + late) / 2
      if ahead(at: middle) == before { early = middle } else { late = middle }
    }
    return late...late
  }

  static let day: Int64 = 86_400

  /// The start of the day that it shows.
  func day(at time: Int64) -> Int64 {
    let shown = shown(at: time)
    return shown - (shown % Self.day + Self.day) % Self.day
  }

  /// The seconds since midnight of a time such as 9:00; nil if it is malformed.
  static func seconds(_ text: String) -> Int64? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].utf8.count == 2, (1...2).contains(parts[0].utf8.count),
      parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      let hours = Int64(parts[0]), let minutes = Int64(parts[1]), hours < 24, minutes < 60
    else { return nil }
    return hours * 3600 + minutes * 60
  }
}
