import Glibc
import JSON

enum Clock {
  /// Seconds of the monotonic clock.
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static func pause(_ seconds: Double) {
    guard seconds > 0 else { return }
    usleep(UInt32(min(seconds, 1) * 1e6))
  }

  /// UNIX seconds as 2026-11-21T14:00:00Z.
  static func written(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
  }

  /// Parses UNIX seconds, with or without a fraction, or a date and time in a database's format
  /// (2026-11-21 14:00:00, also with T between them, and with Z or an offset; the default is UTC).
  static func read(_ text: [UInt8]) -> Int64? {
    let digits = text.prefix(while: \.isDigit)
    if digits.count == text.count || text[digits.count] == UInt8(ascii: "."), !digits.isEmpty {
      guard text.dropFirst(digits.count + 1).allSatisfy(\.isDigit) else { return nil }
      return Int64(String(decoding: digits, as: UTF8.self))
    }
    return date(text)
  }

  private static func date(_ text: [UInt8]) -> Int64? {
    var rest = text[...]
    func number(_ count: Int) -> Int32? {
      let digits = rest.prefix(count)
      guard digits.count == count, digits.allSatisfy(\.isDigit) else { return nil }
      rest = rest.dropFirst(count)
      return Int32(String(decoding: digits, as: UTF8.self))
    }
    func skip(_ characters: String) -> Bool {
      guard let first = rest.first, characters.utf8.contains(first) else { return false }
      rest = rest.dropFirst()
      return true
    }
    guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
      (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day)
    var offset: Int64 = 0
    if !rest.isEmpty {
      guard skip("T "), let hour = number(2), skip(":"), let minute = number(2),
        hour < 24, minute < 60
      else { return nil }
      (parts.tm_hour, parts.tm_min) = (hour, minute)
      if skip(":") {
        guard let second = number(2), second <= 60 else { return nil }
        parts.tm_sec = second
      }
      if skip(".") { rest = rest.drop(while: \.isDigit) }
      if !skip("Z"), !rest.isEmpty {
        let isBehind = rest.first == UInt8(ascii: "-")
        guard skip("+-"), let hours = number(2) else { return nil }
        _ = skip(":")
        offset = Int64(hours) * 3600 + Int64(rest.isEmpty ? 0 : number(2) ?? 0) * 60
        if isBehind { offset = -offset }
      }
    }
    guard rest.isEmpty else { return nil }
    return Int64(timegm(&parts)) - offset
  }
}
