import JSON

/// The time in a line of a log: a date with a time of day, or UNIX seconds.
enum LoggedTime {
  /// UNIX milliseconds; nil without a time.
  static func first(in line: [UInt8]) -> Int64? {
    // A member of JSON has a colon before it, and a comma behind it.
    let words = line.split { !isPart($0) }.map { word in
      let digits = word.drop { $0 == UInt8(ascii: ":") }
      return digits.last == UInt8(ascii: ",") ? digits.dropLast() : digits
    }
    for (index, word) in words.enumerated() {
      if let time = milliseconds(word) { return time }
      // 2026-11-29 14:00:00,043
      if word.count == 10, index + 1 < words.count,
        let time = milliseconds(word + [UInt8(ascii: "T")] + words[index + 1])
      {
        return time
      }
    }
    return nil
  }

  private static func isPart(_ byte: UInt8) -> Bool {
    byte.isDigit || "-+:.,TZ".utf8.contains(byte)
  }

  /// The last second of the year 9999. Nanoseconds, and other numbers, are more.
  private static let end: Int64 = 253_402_300_799

  private static func milliseconds(_ word: ArraySlice<UInt8>) -> Int64? {
    let point = word.firstIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ",") }
    let whole = word[..<(point ?? word.endIndex)]
    let fraction = point.map { word[($0 + 1)...].prefix(while: \.isDigit) } ?? []
    let zone = point.map { word[($0 + 1)...].dropFirst(fraction.count) } ?? []
    // A shorter number is not a time of this century.
    guard whole.count >= (point == nil || whole.contains(UInt8(ascii: "T")) ? 19 : 10),
      let seconds = Clock.read(Array(whole + zone)), (0...end).contains(seconds)
    else { return nil }
    let digits = (fraction.prefix(3) + [0x30, 0x30, 0x30]).prefix(3)
    return seconds * 1000 + digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }
}
