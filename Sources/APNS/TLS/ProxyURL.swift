import CAPNS
import CSystem

/// A proxy as options and environments name it: "http://user:password@proxy.example:3128", read as
/// curl does. The parts are the caller's bytes. There may be a password in any of them, however wrong
/// the text is, so no message quotes it.
struct ProxyURL {
  let host: UnsafeRawBufferPointer
  let port: UInt16
  /// The option or the variable, for messages.
  private let name: StaticString
  /// As in the URL, up to the "@".
  private var user: UnsafeRawBufferPointer?
  private var password = UnsafeRawBufferPointer(start: nil, count: 0)

  private static let usualPort: UInt16 = 1080
  private static let maxCredentials = 1024

  @inline(never)
  init(_ text: UnsafePointer<CChar>, _ name: StaticString) throws(Failure) {
    self.name = name
    let whole = UnsafeRawBufferPointer(start: text, count: strlen(text))
    for byte in whole where byte <= 0x20 || byte == 0x7F {
      throw Self.refusal(name, "has a space or a control character")
    }
    var rest = try Self.withoutScheme(whole, name)
    if let at = Self.last(UInt8(ascii: "@"), in: rest) {
      let given = Self.part(rest, 0, at)
      rest = Self.part(rest, at &+ 1, rest.count)
      let colon = Self.first(UInt8(ascii: ":"), in: given) ?? given.count
      user = Self.part(given, 0, colon)
      password = Self.part(given, min(colon &+ 1, given.count), given.count)
    }
    var digits = UnsafeRawBufferPointer(start: nil, count: 0)
    if rest.first == UInt8(ascii: "[") {
      guard let close = Self.first(UInt8(ascii: "]"), in: rest),
        close &+ 1 == rest.count || rest[close &+ 1] == UInt8(ascii: ":")
      else { throw Self.refusal(name, "has a bracket without its other one") }
      digits = Self.part(rest, min(close &+ 2, rest.count), rest.count)
      rest = Self.part(rest, 1, close)
    } else if let colon = Self.first(UInt8(ascii: ":"), in: rest) {
      guard colon == Self.last(UInt8(ascii: ":"), in: rest) else {
        throw Self.refusal(
          name,
          "has several colons: an IPv6 address stands in brackets, and %3A is a colon elsewhere")
      }
      digits = Self.part(rest, colon &+ 1, rest.count)
      rest = Self.part(rest, 0, colon)
    }
    host = rest
    if host.isEmpty { throw Self.refusal(name, "has no host") }
    switch Unquoted(host) {
    case .lines, nil: break
    case .pem, .base64, .password, .length: throw Self.refusal(name, "is not the URL of a proxy")
    }
    guard let port = Self.port(digits) else {
      throw Self.refusal(name, "has no port of 1 to 65535 behind its colon")
    }
    self.port = port
  }

  /// "user:password" as a proxy gets it (RFC 7617); nil: it gets none.
  @inline(never)
  func credentials() throws(Failure) -> WipedBytes? {
    guard let user else { return nil }
    var fault: StaticString?
    let plain = try WipedBytes(room: user.count &+ password.count &+ 1) {
      fault = Self.decode(user, to: &$0, forbidding: UInt8(ascii: ":"))
      $0.put(UInt8(ascii: ":"))
      fault = Self.decode(password, to: &$0, forbidding: 0) ?? fault
    }
    if let fault { throw Self.refusal(name, fault) }
    if plain.count > Self.maxCredentials {
      throw Self.refusal(name, "has a user and a password of more than 1024 bytes")
    }
    return plain
  }

  /// The part between an optional "http://" and an optional "/" at the end.
  private static func withoutScheme(
    _ text: UnsafeRawBufferPointer, _ name: StaticString
  ) throws(Failure) -> UnsafeRawBufferPointer {
    var rest = text
    if let slash = first(0x2F, in: text), slash > 0, text[slash &- 1] == 0x3A,
      slash &+ 1 < text.count, text[slash &+ 1] == UInt8(ascii: "/")
    {
      let scheme = part(text, 0, slash &- 1)
      if isWord(scheme, "https") {
        throw refusal(name, "is an https:// URL, but TLS to a proxy is not supported: http:// is")
      }
      guard isWord(scheme, "http") else {
        throw refusal(name, "is a URL of another kind: only http:// proxies are supported")
      }
      rest = part(text, slash &+ 2, text.count)
    }
    if let last = rest.last, last == UInt8(ascii: "/") { rest = part(rest, 0, rest.count &- 1) }
    for byte in rest where byte == 0x2F || byte == 0x3F || byte == 0x23 {
      throw refusal(name, "has a /, ? or # that is not at its end: write %2F, %3F or %23")
    }
    return rest
  }

  /// Writes the decoded text; returns the mistake in it, or nil.
  private static func decode(
    _ text: UnsafeRawBufferPointer, to writer: inout WipedWriter, forbidding forbidden: UInt8
  ) -> StaticString? {
    var index = 0
    while index < text.count {
      var byte = text[index]
      index &+= 1
      if byte == UInt8(ascii: "%") {
        guard index &+ 1 < text.count, let high = digit(text[index]),
          let low = digit(text[index &+ 1])
        else { return "has a % without two hexadecimal digits: write %25" }
        byte = high &<< 4 | low
        index &+= 2
      }
      if byte == 0 { return "has a NUL (%00) in its user or password" }
      if byte == forbidden { return "has a colon in its user, which no proxy can be told" }
      writer.put(byte)
    }
    return nil
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte &- 0x30
    case 0x41...0x46: byte &- 0x37
    case 0x61...0x66: byte &- 0x57
    default: nil
    }
  }

  /// The port, or the default without digits; nil if it is invalid.
  private static func port(_ digits: UnsafeRawBufferPointer) -> UInt16? {
    if digits.isEmpty { return usualPort }
    var number = 0
    for byte in digits {
      guard byte >= 0x30, byte <= 0x39, number < 65536 else { return nil }
      number = number &* 10 &+ Int(byte &- 0x30)
    }
    return number == 0 ? nil : UInt16(exactly: number)
  }

  private static func isWord(_ text: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
    text.isSame(as: UnsafeRawBufferPointer(word))
  }

  private static func first(_ byte: UInt8, in text: UnsafeRawBufferPointer) -> Int? {
    for index in 0..<text.count where text[index] == byte { return index }
    return nil
  }

  private static func last(_ byte: UInt8, in text: UnsafeRawBufferPointer) -> Int? {
    var found: Int?
    for index in 0..<text.count where text[index] == byte { found = index }
    return found
  }

  private static func part(
    _ text: UnsafeRawBufferPointer, _ from: Int, _ to: Int
  ) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: text[from..<to]) }

  @inline(never)
  private static func refusal(_ name: StaticString, _ fault: StaticString) -> Failure {
    Failure(APNS_ERR_ARGUMENT) {
      $0.append(name)
      $0.append(" ")
      $0.append(fault)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Letters are the same in either case.
  func isSame(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count, let own = baseAddress, let other = other.baseAddress else {
      return false
    }
    return strncasecmp(own, other, count) == 0
  }
}
