import CSystem

/// Writes numbers as JSON.
enum NumberText {
  /// An upper bound: no number needs this many bytes.
  static let maxLength = 32

  /// Writes an integer and returns where it ended.
  @_optimize(speed)
  static func write(
    _ value: Int64, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var target = target
    if value < 0 {
      target.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
      target += 1
    }
    var magnitude = value.magnitude
    var length = 1
    // No number has more than nineteen digits, so the limit cannot overflow.
    var limit: UInt64 = 10
    while length < 19, magnitude >= limit {
      length &+= 1
      limit &*= 10
    }
    for index in stride(from: length &- 1, through: 0, by: -1) {
      target.storeBytes(
        of: 0x30 &+ UInt8(truncatingIfNeeded: magnitude % 10), toByteOffset: index, as: UInt8.self)
      magnitude /= 10
    }
    return target + length
  }

  /// Writes a finite number with the fewest digits that distinguish it from every other
  /// number, and returns where it ended.
  static func write(
    _ value: Double, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var target = target
    if value.sign == .minus {
      target.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
      target += 1
    }
    let decimal = Decimal(value.magnitude)
    func put(_ byte: UInt8) {
      target.storeBytes(of: byte, as: UInt8.self)
      target += 1
    }
    func put(digits range: Range<Int>) {
      for index in range { put(index < decimal.count ? decimal.digits[index] : 0x30) }
    }
    let point = decimal.exponent &+ 1
    switch decimal.exponent {
    case 0..<16:
      put(digits: 0..<point)
      put(UInt8(ascii: "."))
      put(digits: point..<max(point &+ 1, decimal.count))
    case -4..<0:
      put(0x30)
      put(UInt8(ascii: "."))
      for _ in point..<0 { put(0x30) }
      put(digits: 0..<decimal.count)
    default:
      put(digits: 0..<1)
      if decimal.count > 1 {
        put(UInt8(ascii: "."))
        put(digits: 1..<decimal.count)
      }
      put(0x65)
      target = write(Int64(decimal.exponent), to: target)
    }
    return target
  }
}

/// d.ddd times ten to the exponent, with the fewest digits that read back as the same number.
private struct Decimal {
  /// libc's text: a digit, the locale's point, digits, `e`, the exponent.
  private typealias Text = InlineArray<48, CChar>

  var digits = InlineArray<18, UInt8>(repeating: 0x30)
  var count = 1
  var exponent = 0

  /// `value` is finite and not negative.
  init(_ value: Double) {
    guard value > 0 else { return }
    // A normal number keeps any decimal of up to 15 digits, so a shorter text appears as 15
    // digits with zeros at the end.
    var precision = value.isNormal ? 15 : 1
    while precision < 17 {
      if read(value, precision) { return }
      precision &+= 1
    }
    _ = read(value, 17)
  }

  /// Takes `precision` digits; false if they read back as another number.
  private mutating func read(_ value: Double, _ precision: Int) -> Bool {
    var text = Text(repeating: 0)
    var isSame = false
    var last: Int?
    withUnsafeMutableBytes(of: &text) { bytes in
      guard let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      _ = csystem_format_double(start, bytes.count, CInt(truncatingIfNeeded: precision), value)
      isSame = csystem_parse_double(start) == value
      last = take(UnsafeRawBufferPointer(bytes))
      // Above a power of two the next number is twice as far away as below it. Digits that
      // are too few by one may be right with the last digit one higher.
      if !isSame, value.significandBitPattern == 0, let last, bytes[last] < 0x39 {
        bytes[last] &+= 1
        isSame = csystem_parse_double(start) == value
        if isSame { _ = take(UnsafeRawBufferPointer(bytes)) }
      }
    }
    return isSame
  }

  /// Takes the digits and the exponent from libc's text, and returns where the last digit stands.
  private mutating func take(_ text: UnsafeRawBufferPointer) -> Int? {
    count = 0
    exponent = 0
    var last: Int?
    var index = 0
    while index < text.count, text[index] != 0x65, text[index] != 0 {
      if text[index] >= 0x30, text[index] <= 0x39, count < digits.count {
        digits[count] = text[index]
        count &+= 1
        last = index
      }
      index &+= 1
    }
    while count > 1, digits[count &- 1] == 0x30 { count &-= 1 }
    index &+= 1
    guard index < text.count else { return last }
    let isNegative = text[index] == UInt8(ascii: "-")
    index &+= 1
    while index < text.count, text[index] >= 0x30, text[index] <= 0x39 {
      exponent = exponent &* 10 &+ Int(text[index] &- 0x30)
      index &+= 1
    }
    if isNegative { exponent = 0 &- exponent }
    return last
  }
}
