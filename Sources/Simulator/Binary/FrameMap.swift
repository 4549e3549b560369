import APNS

/// The fields of a frame and their positions. For a broken frame, only those before the error.
package struct FrameMap: Sendable {
  package struct Field: Sendable {
    package var name: String
    /// For people.
    package var value: String
    package var range: Range<Int>

    package init(name: String, value: String, range: Range<Int>) {
      self.name = name
      self.value = value
      self.range = range
    }
  }

  package private(set) var fields: [Field] = []
  package private(set) var payload = 0..<0
  package private(set) var token = 0..<0
  private var identifier: UInt32?
  private var expiry: UInt32?
  private var priority: UInt8?

  private let bytes: [UInt8]
  private var offset = 0

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    switch bytes.first.flatMap(Command.init(rawValue:)) {
    case .simple:
      number("command", 1) { "\($0), simple" }
      readTokenAndPayload()
    case .enhanced:
      number("command", 1) { "\($0), enhanced" }
      identifier = word("identifier")
      expiry = word("expiry", Self.expiry)
      readTokenAndPayload()
    case .framed:
      number("command", 1) { "\($0), framed" }
      number("length of all items", 4)
      while offset < bytes.count { readItem() }
    case nil:
      number("command", 1) { "\($0), which Apple does not have" }
      rest()
    }
  }

  var form: RecentPush.Form {
    .binary(
      command: bytes.first ?? 0, identifier: identifier, expiry: expiry, priority: priority)
  }

  private mutating func word(_ name: String, _ text: (Int) -> String = { "\($0)" }) -> UInt32? {
    number(name, 4, text).flatMap(UInt32.init(exactly:))
  }

  private static func priority(_ value: Int) -> String {
    switch value {
    case 10: "10, immediately"
    case 5: "5, power-considerate"
    default: "\(value)"
    }
  }

  private mutating func readTokenAndPayload() {
    let tokenLength = number("length of the token", 2)
    token = data("token", tokenLength) { TokenField.hex(Array($0)) }
    let payloadLength = number("length of the payload", 2)
    payload = data("payload", payloadLength) { "\($0.count) bytes" }
    rest()
  }

  private mutating func readItem() {
    let kind = number("item") { kind in
      switch FrameItem(rawValue: UInt8(truncatingIfNeeded: kind)) {
      case .token: "1, device token"
      case .payload: "2, payload"
      case .identifier: "3, identifier"
      case .expiry: "4, expiry"
      case .priority: "5, priority"
      case nil: "\(kind), which Apple does not have"
      }
    }
    guard let length = number("length of the item", 2), length <= bytes.count - offset else {
      return rest()
    }
    switch FrameItem(rawValue: UInt8(truncatingIfNeeded: kind ?? 0)) {
    case .token: token = data("token", length) { TokenField.hex(Array($0)) }
    case .payload: payload = data("payload", length) { "\($0.count) bytes" }
    case .identifier where length == 4: identifier = word("identifier")
    case .expiry where length == 4: expiry = word("expiry", Self.expiry)
    case .priority where length == 1:
      priority = number("priority", 1, Self.priority).flatMap(UInt8.init(exactly:))
    default: data("data", length) { TokenField.hex(Array($0)) }
    }
  }

  private static func expiry(_ seconds: Int) -> String {
    seconds == 0 ? "0, try once" : "\(seconds), UNIX seconds"
  }

  @discardableResult
  private mutating func number(
    _ name: String, _ size: Int = 1, _ text: (Int) -> String = { "\($0)" }
  ) -> Int? {
    if offset == bytes.count { return nil }
    guard bytes.count - offset >= size else {
      rest()
      return nil
    }
    let value = bytes[offset..<offset + size].reduce(0) { $0 << 8 | Int($1) }
    fields.append(Field(name: name, value: text(value), range: offset..<offset + size))
    offset += size
    return value
  }

  @discardableResult
  private mutating func data(
    _ name: String, _ length: Int?, _ text: (ArraySlice<UInt8>) -> String
  ) -> Range<Int> {
    guard let length, offset < bytes.count else { return 0..<0 }
    let range = offset..<min(offset + length, bytes.count)
    let cut = range.count < length ? ", \(length - range.count) are missing" : ""
    fields.append(Field(name: name, value: text(bytes[range]) + cut, range: range))
    offset = range.upperBound
    return range
  }

  /// Bytes outside every field.
  private mutating func rest() {
    if offset < bytes.count {
      fields.append(
        Field(name: "unread", value: "\(bytes.count - offset) bytes", range: offset..<bytes.count))
    }
    offset = bytes.count
  }
}
