/// A number given as UNIX seconds that nobody can have meant as such.
struct UnlikelyTime {
  enum Unit: UInt8 { case seconds, milliseconds, microseconds, nanoseconds }

  let unit: Unit
  /// Counted from 2001, as Swift's `Date` encodes itself.
  let isFrom2001: Bool
  /// It is the time, in UNIX seconds; or the duration, where nothing else is known of it.
  let seconds: UNIXSeconds

  var isDuration: Bool { unit == .seconds && !isFrom2001 }

  /// No time is earlier than this (September 2001), and no duration longer.
  private static var earliest: UNIXSeconds { 1_000_000_000 }
  /// No time in seconds is later (the year 5138), and every time in milliseconds is.
  private static var latest: UNIXSeconds { 100_000_000_000 }
  /// From 2001 to November 2016; no duration is nearly that long.
  private static var earliestFrom2001: UNIXSeconds { 500_000_000 }
  private static var from1970To2001: UNIXSeconds { 978_307_200 }

  /// Nil if the number may be a time.
  @inline(never)
  init?(_ number: Int64) {
    if number >= Self.earliest, number < Self.latest { return nil }
    var (left, unit) = (number, UInt8(0))
    while left >= Self.latest, unit < 3 {
      left /= 1000
      unit &+= 1
    }
    isFrom2001 = left >= Self.earliestFrom2001 && left < Self.earliest
    self.unit = Unit(rawValue: unit) ?? .seconds
    seconds = isFrom2001 ? left &+ Self.from1970To2001 : left
  }
}

/// The integer part of a JSON number.
enum WholeNumber {
  /// Without its fraction; the largest or the smallest value on overflow.
  @inline(never)
  static func read(_ text: UnsafeRawBufferPointer) -> Int64 {
    var magnitude: Int64 = 0
    /// Digits after the point, less those that an exponent moves in front of it.
    var (shift, exponent) = (0, 0)
    var (isFraction, isNegative, isExponent, isSmall) = (false, false, false, false)
    for index in 0..<text.count {
      switch text[index] {
      case 0x2D: if isExponent { isSmall = true } else { isNegative = true }
      case 0x2E: isFraction = true
      case 0x45, 0x65: isExponent = true
      case let byte where byte &- 0x30 < 10:
        if isExponent {
          exponent = min(exponent &* 10 &+ Int(byte &- 0x30), 400)
        } else if magnitude < .max / 10 {
          magnitude = magnitude &* 10 &+ Int64(byte &- 0x30)
          if isFraction { shift &+= 1 }
        } else if !isFraction {
          shift &-= 1
        }
      default: break
      }
    }
    shift = isSmall ? shift &+ exponent : shift &- exponent
    while shift > 0, magnitude > 0 {
      magnitude /= 10
      shift &-= 1
    }
    while shift < 0, magnitude > 0 {
      if magnitude > .max / 10 {
        magnitude = .max
        break
      }
      magnitude &*= 10
      shift &+= 1
    }
    return isNegative ? 0 &- magnitude : magnitude
  }

  /// Whether a JSON number is from 0 to 1.
  @inline(never)
  static func isShare(_ text: UnsafeRawBufferPointer) -> Bool {
    let whole = read(text)
    if whole == 0 { return text[0] != UInt8(ascii: "-") || !hasDigits(text) }
    return whole == 1 && !hasDigits(behindFirst: text)
  }

  private static func hasDigits(_ text: UnsafeRawBufferPointer) -> Bool {
    for index in 0..<text.count {
      if text[index] | 0x20 == 0x65 { return false }
      if text[index] &- 0x31 < 9 { return true }
    }
    return false
  }

  /// Whether there is more than the digit 1 and zeros.
  private static func hasDigits(behindFirst text: UnsafeRawBufferPointer) -> Bool {
    var ones = 0
    for index in 0..<text.count {
      if text[index] | 0x20 == 0x65 { break }
      if text[index] &- 0x31 < 9 { ones &+= text[index] == 0x31 ? 1 : 2 }
    }
    return ones != 1
  }
}
