/// The body of a response other than 200, or of APNs' reason for ending a connection:
/// `{"reason":"…","timestamp":…}`. A server other than APNs may have written it.
struct ResponseBody {
  /// `other` when the body is not JSON or gives no reason.
  private(set) var reason = Reason.other
  /// The reason as it was written; empty without one.
  private(set) var text = ReasonText()
  /// When APNs found the device gone; 0 if the body does not have it.
  private(set) var timestamp: UNIXMilliseconds = 0

  private init() {}

  init(_ bytes: UnsafeRawBufferPointer) {
    self.init()
    do throws(JSONFault) {
      try read(bytes)
      reason = text.reason
    } catch {
      self = ResponseBody()
    }
  }

  private mutating func read(_ bytes: UnsafeRawBufferPointer) throws(JSONFault) {
    var reader = JSONReader(bytes)
    let first = try reader.next()
    if first == .beginObject {
      while try reader.next() == .name {
        let name = KeyName(reader.token)
        let value = try reader.next()
        if name.equals("reason"), value == .string {
          text = ReasonText(json: reader.token)
        } else if name.equals("timestamp"), value == .integer {
          timestamp = Self.number(reader.token)
        }
        try reader.skip(value)
      }
    } else {
      try reader.skip(first)
    }
    _ = try reader.next()
  }

  /// 0 when it is negative or too large for our number.
  private static func number(_ digits: UnsafeRawBufferPointer) -> Int64 {
    var number: Int64 = 0
    for digit in digits {
      guard digit >= 0x30, digit <= 0x39 else { return 0 }
      let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, overflowed) = tens.addingReportingOverflow(Int64(digit &- 0x30))
      if overflow || overflowed { return 0 }
      number = sum
    }
    return number
  }
}

/// A reason as it was written, in one line, truncated to the room, with a NUL after it.
struct ReasonText {
  /// Twice as long as the longest reason there is.
  static let capacity = 64

  private var bytes = InlineArray<64, UInt8>(repeating: 0)
  private(set) var count = 0

  init() {}

  /// A text that was read before.
  init(plain: UnsafeRawBufferPointer) {
    count = min(plain.count, Self.capacity &- 1)
    for index in 0..<count { bytes[index] = plain[index] }
  }

  func append(to message: inout Message) {
    var copy = bytes
    withUnsafeBytes(of: &copy) {
      message.append(text: UnsafeRawBufferPointer(rebasing: $0[0..<count]))
    }
  }

  /// Reads the text between the quotation marks of a JSON string.
  init(json: UnsafeRawBufferPointer) {
    var index = 0
    var character: (UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0)
    while index < json.count {
      var scalar: UInt32
      var taken: Int
      if json[index] == UInt8(ascii: "\\") {
        guard let escape = try? JSONEscape.read(json, at: index) else { return }
        (scalar, taken) = escape
      } else {
        guard let plain = UTF8Text.decode(json, at: index) else { return }
        (scalar, taken) = plain
      }
      // It may be written to a log.
      if !UTF8Text.isPlain(scalar) { scalar = 0x3F }
      let length = UTF8Text.length(scalar)
      guard count &+ length < Self.capacity else { return }
      withUnsafeMutableBytes(of: &character) {
        guard let start = $0.baseAddress else { return }
        _ = UTF8Text.encode(scalar, into: start)
      }
      withUnsafeBytes(of: &character) {
        for step in 0..<length { bytes[count &+ step] = $0[step] }
      }
      count &+= length
      index &+= taken
    }
  }

  fileprivate var reason: Reason {
    var copy = bytes
    return withUnsafeBytes(of: &copy) {
      Reason(text: UnsafeRawBufferPointer(rebasing: $0[0..<count]))
    }
  }

  /// Copies as much as there is room for, and a NUL.
  func copy(to target: UnsafeMutableRawBufferPointer) {
    guard target.count > 0 else { return }
    let length = min(count, target.count &- 1)
    for index in 0..<length { target[index] = bytes[index] }
    target[length] = 0
  }
}
