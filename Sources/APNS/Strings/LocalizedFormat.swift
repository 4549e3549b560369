import CSystem

/// Fills the arguments into a localized format string as the device does: `%@` takes the
/// next argument, `%n$@` the n-th, and `%%` is a percent sign.
enum LocalizedFormat {
  enum Fault: Error {
    /// The `%` at `offset` does not begin a known directive.
    case directive(offset: Int)
    /// The directive wants an argument that does not exist.
    case tooFewArguments(offset: Int, wanted: Int)
    /// The argument, counted from 1, is NULL.
    case null(argument: Int)
    case tooLong
  }

  /// Returns how many bytes the text takes, and writes those that fit into `target`.
  @inline(never)
  static func write(
    _ format: UnsafeRawBufferPointer, _ arguments: UnsafePointer<UnsafePointer<CChar>?>?,
    _ count: Int, into target: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    var length = 0
    var taken = 0
    var index = 0
    while index < format.count {
      let start = index
      if format[index] != UInt8(ascii: "%") {
        while index < format.count, format[index] != UInt8(ascii: "%") { index &+= 1 }
        try append(UnsafeRawBufferPointer(rebasing: format[start..<index]), target, &length)
        continue
      }
      guard let directive = Directive(format, at: &index) else { throw .directive(offset: start) }
      var wanted = 0
      switch directive {
      case .percent:
        try append(UnsafeRawBufferPointer(rebasing: format[start..<start &+ 1]), target, &length)
        continue
      case .next:
        // Only `%@` counts as taking an argument; `%n$@` does not.
        taken &+= 1
        wanted = taken
      case .numbered(let number): wanted = number
      }
      guard wanted <= count, let arguments else {
        throw .tooFewArguments(offset: start, wanted: wanted)
      }
      guard let argument = arguments[wanted &- 1] else { throw .null(argument: wanted) }
      try append(UnsafeRawBufferPointer(start: argument, count: strlen(argument)), target, &length)
    }
    return length
  }

  private enum Directive {
    case percent, next
    /// The argument's number, from 1.
    case numbered(Int)

    /// Nil if this is not a directive; otherwise `index` moves past it.
    init?(_ format: UnsafeRawBufferPointer, at index: inout Int) {
      var end = index &+ 1
      var number = 0
      while end < format.count, format[end] & 0xFE == 0x38 || format[end] & 0xF8 == 0x30 {
        // There are never this many arguments.
        if number < 100_000_000 { number = number &* 10 &+ Int(format[end] & 0xF) }
        end &+= 1
      }
      let isNumbered = end > index &+ 1
      if isNumbered {
        guard number > 0, end < format.count, format[end] == UInt8(ascii: "$") else { return nil }
        end &+= 1
      }
      guard end < format.count else { return nil }
      switch format[end] {
      case 0x40: self = isNumbered ? .numbered(number) : .next
      case 0x25 where !isNumbered: self = .percent
      default: return nil
      }
      index = end &+ 1
    }
  }

  @inline(never)
  private static func append(
    _ bytes: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer, _ length: inout Int
  ) throws(Fault) {
    let (end, overflow) = length.addingReportingOverflow(bytes.count)
    // The caller can add one to the length, for a NUL, without overflow.
    if overflow || end == .max { throw .tooLong }
    if end <= target.count, bytes.count > 0 {
      UnsafeMutableRawBufferPointer(rebasing: target[length..<end]).copyMemory(from: bytes)
    }
    length = end
  }
}
