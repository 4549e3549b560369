import Foundation
import Testing

@testable import Relay

/// Local times and quiet hours, also where clocks are changed.
@Suite struct LocalTimeTests {
  private func time(_ text: String) throws -> Int64 { try #require(Campaign.due(at: text)) / 1000 }

  private func due(_ text: String, _ zone: String, at now: String) throws -> String {
    let due = try #require(LocalTime(text)).due(by: ZoneClock(zone), at: time(now) * 1000)
    return TimeText.of(due).replacingOccurrences(of: ".000Z", with: "Z")
  }

  @Test func theNextOneIsTodayOrTomorrow() throws {
    let now = "2026-07-01T06:30:00Z"
    #expect(try due("9:00", "Europe/Berlin", at: now) == "2026-07-01T07:00:00Z")
    #expect(try due("08:30", "Europe/Berlin", at: now) == "2026-07-01T06:30:00Z")
    #expect(try due("8:29", "Europe/Berlin", at: now) == "2026-07-02T06:29:00Z")
    #expect(try due("9:00", "America/New_York", at: now) == "2026-07-01T13:00:00Z")
    #expect(try due("9:00", "Asia/Tokyo", at: now) == "2026-07-02T00:00:00Z")
    #expect(try due("9:00", "Asia/Kathmandu", at: now) == "2026-07-02T03:15:00Z")
    #expect(try due("0:00", "Pacific/Kiritimati", at: now) == "2026-07-01T10:00:00Z")
    #expect(try due("23:59", "Pacific/Pago_Pago", at: now) == "2026-07-01T10:59:00Z")
  }

  @Test func aDayIsEachZonesOwn() throws {
    let now = "2026-01-01T00:00:00Z"
    #expect(try due("2026-12-24T09:00", "Europe/Berlin", at: now) == "2026-12-24T08:00:00Z")
    #expect(try due("2026-12-24T09:00", "UTC", at: now) == "2026-12-24T09:00:00Z")
    #expect(try due("2026-12-24T09:00", "Pacific/Auckland", at: now) == "2026-12-23T20:00:00Z")
  }

  /// Berlin's clocks go from 2:00 to 3:00 in March, and from 3:00 to 2:00 in October.
  @Test func aClockSkipsTimesAndShowsSomeTwice() throws {
    let now = "2026-01-01T00:00:00Z"
    #expect(try due("2026-03-29T01:59", "Europe/Berlin", at: now) == "2026-03-29T00:59:00Z")
    #expect(try due("2026-03-29T02:30", "Europe/Berlin", at: now) == "2026-03-29T01:00:00Z")
    #expect(try due("2026-03-29T03:00", "Europe/Berlin", at: now) == "2026-03-29T01:00:00Z")
    #expect(try due("2026-10-25T02:30", "Europe/Berlin", at: now) == "2026-10-25T00:30:00Z")
    #expect(try due("2026-10-25T03:00", "Europe/Berlin", at: now) == "2026-10-25T02:00:00Z")
    #expect(try due("9:00", "Europe/Berlin", at: "2026-03-28T10:00:00Z") == "2026-03-29T07:00:00Z")
    #expect(try due("9:00", "Europe/Berlin", at: "2026-10-24T10:00:00Z") == "2026-10-25T08:00:00Z")
    // Lord Howe's go by half an hour.
    #expect(
      try due("2026-10-04T02:15", "Australia/Lord_Howe", at: now) == "2026-10-03T15:30:00Z")
  }

  @Test(arguments: [
    "", "9", "9:0", "24:00", "9:60", "-1:00", "9:00:00", "+9:00", "2026-12-24", "2026-13-01T09:00",
    "2026-12-24T09:00Z", "2026-12-24T", "T09:00", "2026-12-24T9:00T",
  ]) func othersAreNoLocalTimes(_ text: String) {
    #expect(LocalTime(text) == nil)
  }

  @Test func anUnknownZoneIsNamed() {
    #expect(
      fault { try ZoneClock("Europe/Berlyn") }
        == "there is no time zone 'Europe/Berlyn', only such as Europe/Berlin")
  }

  // MARK: Quiet hours

  private func quiet(_ from: String, _ to: String, _ zone: String = "Europe/Berlin") throws
    -> QuietTimes
  {
    try #require(
      QuietTimes(AppConfiguration.QuietHours(from: from, to: to, timezone: zone)))
  }

  /// Begin and end of the hours in these days, as seen each minute.
  private func changes(_ times: QuietTimes, from: String, days: Int) throws -> [String] {
    var (times, last, all) = (times, false, [String]())
    let first = try time(from)
    for minute in 0..<Int64(days) * 1440 {
      let now = first + 60 * minute
      let end = times.end(at: now)
      if let end { #expect(end > now) }
      if (end != nil) != last {
        all.append(String(TimeText.of(now * 1000).dropFirst(5).prefix(11)))
        last = end != nil
      }
    }
    return all
  }

  @Test func theHoursGoOverMidnight() throws {
    #expect(
      try changes(quiet("22:00", "07:00"), from: "2026-07-01T12:00:00Z", days: 2)
        == ["07-01T20:00", "07-02T05:00", "07-02T20:00", "07-03T05:00"])
    #expect(
      try changes(quiet("1:00", "5:30"), from: "2026-07-01T12:00:00Z", days: 1)
        == ["07-01T23:00", "07-02T03:30"])
  }

  @Test func theHoursFollowTheClock() throws {
    #expect(
      try changes(quiet("22:00", "07:00"), from: "2026-03-28T12:00:00Z", days: 2)
        == ["03-28T21:00", "03-29T05:00", "03-29T20:00", "03-30T05:00"])
    #expect(
      try changes(quiet("22:00", "07:00"), from: "2026-10-24T12:00:00Z", days: 2)
        == ["10-24T20:00", "10-25T06:00", "10-25T21:00", "10-26T06:00"])
  }

  /// An end that the clock skips is when it goes forward. If there are two such times, the hours have the longer night.
  @Test func theHoursEndWhereTheClockIsChanged() throws {
    #expect(
      try changes(quiet("22:00", "2:30"), from: "2026-03-28T12:00:00Z", days: 1)
        == ["03-28T21:00", "03-29T01:00"])
    #expect(
      try changes(quiet("2:30", "7:00"), from: "2026-03-28T12:00:00Z", days: 1)
        == ["03-29T01:00", "03-29T05:00"])
    #expect(
      try changes(quiet("22:00", "2:30"), from: "2026-10-24T12:00:00Z", days: 1)
        == ["10-24T20:00", "10-25T01:30"])
    #expect(
      try changes(quiet("2:30", "7:00"), from: "2026-10-24T12:00:00Z", days: 1)
        == ["10-25T00:30", "10-25T06:00"])
  }

  @Test func aClockThatIsSetBackIsAskedAgain() throws {
    var times = try quiet("22:00", "07:00")
    #expect(try times.end(at: time("2026-07-01T20:00:00Z")) == time("2026-07-02T05:00:00Z"))
    #expect(try times.end(at: time("2026-07-01T19:59:59Z")) == nil)
    #expect(try times.end(at: time("2026-06-30T21:00:00Z")) == time("2026-07-01T05:00:00Z"))
    #expect(try times.end(at: time("2026-07-02T05:00:00Z")) == nil)
  }
}
