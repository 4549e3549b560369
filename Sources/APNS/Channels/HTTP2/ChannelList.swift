/// The channels in an answer, `{"channels": ["…", …]}`, read one after the other. The answer's bytes
/// outlive the list.
struct ChannelList {
  /// Its position is before the first channel not yet returned.
  private var reader: JSONReader
  private var hasEnded = false

  /// Nil if the bytes are not a list of channels.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var room = ChannelText()
    do throws(JSONFault) {
      var found: JSONReader?
      var reader = JSONReader(bytes)
      guard try reader.next() == .beginObject else { return nil }
      while try reader.next() == .name {
        let isList = KeyName(reader.token).equals("channels")
        let value = try reader.next()
        guard isList else {
          try reader.skip(value)
          continue
        }
        guard value == .beginArray, found == nil else { return nil }
        found = reader
        while true {
          let element = try reader.next()
          if element == .endArray { break }
          guard element == .string, room.read(json: reader.token) else { return nil }
        }
      }
      guard try reader.next() == .end, let found else { return nil }
      self.reader = found
    } catch {
      return nil
    }
  }

  /// Reads the next channel; false at the end.
  mutating func next(into text: inout ChannelText) -> Bool {
    if hasEnded { return false }
    if let token = try? reader.next(), token == .string { return text.read(json: reader.token) }
    hasEnded = true
    return false
  }
}

/// A channel's text, followed by a NUL.
struct ChannelText {
  private(set) var bytes = InlineArray<256, UInt8>(repeating: 0)
  private(set) var count = 0

  /// False if a header field cannot carry the text, or it is too long.
  mutating func read(_ text: UnsafeRawBufferPointer) -> Bool {
    count = 0
    guard text.count > 0, text.count < bytes.count else { return false }
    for byte in text {
      guard append(UInt32(byte)) else { return false }
    }
    bytes[count] = 0
    return true
  }

  /// The same from between the quotation marks of a JSON string, where `/` may be escaped.
  mutating func read(json: UnsafeRawBufferPointer) -> Bool {
    count = 0
    var index = 0
    while index < json.count {
      var scalar = UInt32(json[index])
      var taken = 1
      if scalar == UInt8(ascii: "\\") {
        guard let escape = try? JSONEscape.read(json, at: index) else { return false }
        (scalar, taken) = escape
      }
      guard append(scalar) else { return false }
      index &+= taken
    }
    bytes[count] = 0
    return count > 0
  }

  func isSame(_ other: ChannelText) -> Bool {
    guard count == other.count else { return false }
    for index in 0..<count where bytes[index] != other.bytes[index] { return false }
    return true
  }

  func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    var copy = bytes
    withUnsafeBytes(of: &copy) { body(UnsafeRawBufferPointer(rebasing: $0[0..<count])) }
  }

  /// Copies it with its NUL; there is room.
  func copy(to target: UnsafeMutableRawBufferPointer) {
    for index in 0..<min(count &+ 1, target.count) { target[index] = bytes[index] }
  }

  private mutating func append(_ scalar: UInt32) -> Bool {
    guard scalar > 0x20, scalar < 0x7F, count < bytes.count &- 1 else { return false }
    bytes[count] = UInt8(truncatingIfNeeded: scalar)
    count &+= 1
    return true
  }
}
