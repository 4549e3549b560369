import CSystem

/// A localized formatted string with its arguments filled in, as the device does it:
/// `%@` takes the next argument, `%n$@` the n-th, `%%` is a percent sign.
enum LocalizedFormat {
  enum Fault: Error {
    /// At `offset` a `%` begins nothing that is known.
    case directive(offset: Int)
    /// It wants an argument that there is not.
    case tooFewArguments(offset: Int, wanted: Int)
    /// The argument, from 1, is NULL.
    case null(argument: Int)
    case tooLong
  }

  /// Writes to `target` as far as it goes; how many bytes it takes.
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
      if format[index] != 0x25 {
        while index < format.count, format[index] != 0x25 { index &+= 1 }
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
        // One with a number does not count as taken.
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
    /// From 1.
    case numbered(Int)

    /// Nil where it is none; else `index` is behind it.
    init?(_ format: UnsafeRawBufferPointer, at index: inout Int) {
      var end = index &+ 1
      var number = 0
      while end < format.count, format[end] & 0xFE == 0x38 || format[end] & 0xF8 == 0x30 {
        // Never as many arguments as that.
        if number < 100_000_000 { number = number &* 10 &+ Int(format[end] & 0xF) }
        end &+= 1
      }
      let isNumbered = end > index &+ 1
      if isNumbered {
        guard number > 0, end < format.count, format[end] == 0x24 else { return nil }
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
    // One more has room for a NUL.
    if overflow || end == .max { throw .tooLong }
    if end <= target.count, bytes.count > 0 {
      UnsafeMutableRawBufferPointer(rebasing: target[length..<end]).copyMemory(from: bytes)
    }
    length = end
  }
}
