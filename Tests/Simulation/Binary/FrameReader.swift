/// A frame as the model reads it: by Apple's tables, and without the core's decoder.
struct ReadFrame {
  var length = 0
  var token = UnsafeRawBufferPointer(start: nil, count: 0)
  var payload = UnsafeRawBufferPointer(start: nil, count: 0)
  var identifier: UInt32?
  var expiry: UInt32?
  var priority: UInt8?

  /// Nil while the frame is incomplete. `fault` tells why the bytes cannot be a frame.
  static func read(
    _ bytes: UnsafeRawBufferPointer, command: UInt8, fault: inout String?
  ) -> ReadFrame? {
    guard bytes.count > 0 else { return nil }
    guard bytes[0] == command else {
      fault = "a frame begins with \(bytes[0])"
      return nil
    }
    return command == 2 ? readItems(bytes, &fault) : readFields(bytes, command)
  }

  private static func readFields(_ bytes: UnsafeRawBufferPointer, _ command: UInt8) -> ReadFrame? {
    var frame = ReadFrame()
    var at = 1
    if command == 1 {
      guard bytes.count >= 9 else { return nil }
      frame.identifier = number(bytes, 1, 4)
      frame.expiry = number(bytes, 5, 4)
      at = 9
    }
    guard bytes.count >= at + 2 else { return nil }
    let tokenLength = Int(number(bytes, at, 2))
    at += 2
    guard bytes.count >= at + tokenLength + 2 else { return nil }
    frame.token = part(bytes, at, tokenLength)
    at += tokenLength
    let payloadLength = Int(number(bytes, at, 2))
    at += 2
    guard bytes.count >= at + payloadLength else { return nil }
    frame.payload = part(bytes, at, payloadLength)
    frame.length = at + payloadLength
    return frame
  }

  private static func readItems(
    _ bytes: UnsafeRawBufferPointer, _ fault: inout String?
  ) -> ReadFrame? {
    guard bytes.count >= 5 else { return nil }
    let end = 5 + Int(number(bytes, 1, 4))
    guard end <= BinaryLink.room / 2 else {
      fault = "a frame of \(end) bytes"
      return nil
    }
    guard bytes.count >= end else { return nil }
    var frame = ReadFrame()
    frame.length = end
    var at = 5
    while at < end {
      guard at + 3 <= end else {
        fault = "an item is cut"
        return nil
      }
      let length = Int(number(bytes, at + 1, 2))
      guard at + 3 + length <= end else {
        fault = "an item is cut"
        return nil
      }
      switch (bytes[at], length) {
      case (1, _): frame.token = part(bytes, at + 3, length)
      case (2, _): frame.payload = part(bytes, at + 3, length)
      case (3, 4): frame.identifier = number(bytes, at + 3, 4)
      case (4, 4): frame.expiry = number(bytes, at + 3, 4)
      case (5, 1): frame.priority = bytes[at + 3]
      default: fault = "item \(bytes[at]) of \(length) bytes"
      }
      at += 3 + length
    }
    return frame
  }

  /// The number of the notification at the start of an enhanced frame, as soon as the first
  /// bytes of its token have arrived.
  static func numberAhead(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard bytes.count >= 15, bytes[0] == 1, number(bytes, 9, 2) >= 4 else { return nil }
    return Token.number(part(bytes, 11, 4))
  }

  private static func part(
    _ bytes: UnsafeRawBufferPointer, _ at: Int, _ count: Int
  ) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[at..<(at + count)])
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ at: Int, _ count: Int) -> UInt32 {
    var number: UInt32 = 0
    for index in at..<(at + count) { number = number << 8 | UInt32(bytes[index]) }
    return number
  }
}
