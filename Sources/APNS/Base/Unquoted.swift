import CSystem

/// Why a given value is not quoted: it may contain a private key instead of a name, and messages go
/// to terminals and logs. This is the only place that decides it.
enum Unquoted {
  /// A line break, or another character that no name has.
  case lines
  /// A PEM block, or the beginning of one.
  case pem
  /// Base64 that is as mixed as a key's.
  case base64
  /// A user and a password before a host, as URLs have them.
  case password
  /// More than any path has.
  case length

  private static let maxPath = 4096
  private static let begin: StaticString = "-BEGIN"

  /// Nil if the value may be quoted.
  init?(_ value: UnsafeRawBufferPointer) {
    if let key = Self(keyIn: value) {
      self = key
      return
    }
    for byte in value where byte < 0x20 {
      self = .lines
      return
    }
    if Self.hasPassword(value) {
      self = .password
    } else if value.count > Self.maxPath {
      self = .length
    } else {
      return nil
    }
  }

  /// The same for text that may have several lines: nil unless a key is in it.
  init?(keyIn text: UnsafeRawBufferPointer) {
    if Self.hasPEM(text) {
      self = .pem
    } else if !Self.isPin(text), Self.hasKeyDigits(text) {
      self = .base64
    } else {
      return nil
    }
  }

  /// The text in place of the value. Each ends in NUL.
  var words: StaticString {
    switch self {
    case .lines: "line breaks or the like"
    case .pem: "PEM"
    case .base64: "perhaps a key"
    case .password: "perhaps a password"
    case .length: "longer than a path"
    }
  }

  private static func hasPEM(_ text: UnsafeRawBufferPointer) -> Bool {
    text.contains(begin)
  }

  /// "user:password@host", with what goes before it in a URL.
  private static func hasPassword(_ value: UnsafeRawBufferPointer) -> Bool {
    var hasColon = false
    for index in 0..<value.count {
      switch value[index] {
      case 0x2F: hasColon = false
      case 0x3A: hasColon = true
      case 0x40: if hasColon { return true }
      default: break
      }
    }
    return false
  }

  /// The hash of a public key, as pins have it.
  private static func isPin(_ text: UnsafeRawBufferPointer) -> Bool {
    text.count <= 8 &+ 44 && text.starts(with: "sha256//")
  }

  private enum Digit {
    case upper
    case lower
    case number
    case sign

    /// Nil if base64 does not have the character.
    init?(_ byte: UInt8) {
      switch byte {
      case 0x41...0x5A: self = .upper
      case 0x61...0x7A: self = .lower
      case 0x30...0x39: self = .number
      case 0x2B, 0x2F, 0x3D: self = .sign
      default: return nil
      }
    }
  }

  /// Whether 40 digits in a row have letters of both cases and numbers, and change between these as
  /// often as chance has it: 26 times. Paths, hashes in hex and names in CamelCase do not.
  private static func hasKeyDigits(_ text: UnsafeRawBufferPointer) -> Bool {
    let width = 40
    var (upper, lower, numbers, changes, run) = (0, 0, 0, 0, 0)
    var last: Digit?
    func count(_ digit: Digit, by step: Int) {
      switch digit {
      case .upper: upper &+= step
      case .lower: lower &+= step
      case .number: numbers &+= step
      case .sign: break
      }
    }
    func isChange(_ one: Digit, _ other: Digit) -> Bool {
      one != other && one != .sign && other != .sign
    }
    for index in 0..<text.count {
      guard let digit = Digit(text[index]) else {
        (upper, lower, numbers, changes, run, last) = (0, 0, 0, 0, 0, nil)
        continue
      }
      count(digit, by: 1)
      if let last, isChange(last, digit) { changes &+= 1 }
      last = digit
      run &+= 1
      if run > width, let gone = Digit(text[index &- width]),
        let next = Digit(text[index &- width &+ 1])
      {
        count(gone, by: -1)
        if isChange(gone, next) { changes &-= 1 }
      }
      if run >= width, upper >= 5, lower >= 5, numbers >= 2, changes >= 15 { return true }
    }
    return false
  }
}
