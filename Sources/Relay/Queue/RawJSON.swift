import Glibc

/// JSON as text: read only as far as an entry's tokens need it.
package struct RawJSON {
  package struct Fault: Error, CustomStringConvertible {
    package var offset: Int
    package var message: String
    package var description: String { "\(message), at byte \(offset + 1)" }
  }

  /// A member of an object, as it is written: the name with its quotes.
  package struct Member {
    var name: Range<Int>
    var value: Range<Int>
  }

  private static let deepest = 64
  /// Members of all elements: 32 for each of a thousand devices.
  private static let mostKept = 32_000

  let bytes: [UInt8]
  /// Whether anything in it is written with an escape, which is seldom.
  private let hasEscapes: Bool
  private var at = 0

  package init(_ text: String) {
    bytes = Array(text.utf8)
    hasEscapes = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { memchr($0, 0x5C, bytes.count) != nil } ?? false
    }
  }

  package static func quoted(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\r": out += "\\r"
      case "\t": out += "\\t"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out + "\""
  }

  /// Whether it is one value and nothing more.
  package static func isValue(_ text: String) -> Bool {
    do {
      var reader = RawJSON(text)
      _ = try reader.value(0)
      try reader.end()
      return true
    } catch {
      return false
    }
  }

  /// The elements of an array: where each of them is.
  package mutating func elements() throws(Fault) -> [Range<Int>] {
    var (members, ends) = ([Member](), [Int]())
    return try elements(&members, &ends, areWanted: false)
  }

  /// As above, with the members of those that are objects. `ends` has for each element how many members
  /// there are up to it. Where there are too many to be kept, both are empty.
  package mutating func elements(
    _ members: inout [Member], _ ends: inout [Int]
  ) throws(Fault) -> [Range<Int>] {
    try elements(&members, &ends, areWanted: true)
  }

  private mutating func elements(
    _ members: inout [Member], _ ends: inout [Int], areWanted: Bool
  ) throws(Fault) -> [Range<Int>] {
    var all: [Range<Int>] = []
    var areWanted = areWanted
    try take(UInt8(ascii: "["), "an array")
    skip()
    if peek == UInt8(ascii: "]") {
      at += 1
    } else {
      while true {
        skip()
        let start = at
        if areWanted, peek == UInt8(ascii: "{") {
          try self.members(into: &members)
        } else {
          _ = try value(0)
        }
        all.append(start..<at)
        if areWanted { ends.append(members.count) }
        if members.count > Self.mostKept { (members, ends, areWanted) = ([], [], false) }
        if try !isMore(UInt8(ascii: "]")) { break }
      }
    }
    try end()
    return all
  }

  /// The members of an object, the names as text and the values as they are written.
  package mutating func members() throws(Fault) -> [(name: String, value: ArraySlice<UInt8>)] {
    var all: [Member] = []
    try members(into: &all)
    try end()
    return try all.map { member throws(Fault) in
      (String(decoding: try text(member.name) ?? [], as: UTF8.self), bytes[member.value])
    }
  }

  /// The members of an object at a place that was read before. A fault counts from there.
  package func members(of place: Range<Int>, into all: inout [Member]) throws(Fault) {
    var reader = self
    reader.at = place.lowerBound
    do {
      try reader.members(into: &all)
    } catch {
      throw Fault(offset: error.offset - place.lowerBound, message: error.message)
    }
  }

  private mutating func members(into all: inout [Member]) throws(Fault) {
    try take(UInt8(ascii: "{"), "an object")
    skip()
    if peek == UInt8(ascii: "}") {
      at += 1
      return
    }
    while true {
      skip()
      guard peek == UInt8(ascii: "\"") else { throw fault("a name") }
      let name = at
      try string()
      let nameEnd = at
      try take(UInt8(ascii: ":"), "a colon")
      all.append(Member(name: name..<nameEnd, value: try value(0)))
      if try !isMore(UInt8(ascii: "}")) { return }
    }
  }

  /// The last member of that name, of those at these places.
  func last(
    _ name: UnsafeBufferPointer<UInt8>, of members: [Member], _ places: Range<Int>
  ) -> Member? {
    var index = places.upperBound
    while index > places.lowerBound {
      index -= 1
      if isName(of: members[index], name) { return members[index] }
    }
    return nil
  }

  /// Whether that is the member's name.
  private func isName(of member: Member, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    let written = member.name.lowerBound + 1..<member.name.upperBound - 1
    if written.count == name.count {
      return bytes.withUnsafeBytes { bytes in
        name.isEmpty
          || memcmp(bytes.baseAddress! + written.lowerBound, name.baseAddress!, name.count) == 0
      }
    }
    // It may be written with escapes, which are longer.
    guard written.count > name.count, hasEscapes(written) else { return false }
    return (try? text(member.name))??.elementsEqual(name) == true
  }

  /// Whether the value at a place is a string.
  package func isText(_ place: Range<Int>) -> Bool {
    !place.isEmpty && bytes[place.lowerBound] == UInt8(ascii: "\"")
  }

  /// The text of the string at a place, in UTF-8; nil if it is another value. What has no escapes is
  /// not copied.
  package func text(_ place: Range<Int>) throws(Fault) -> ArraySlice<UInt8>? {
    guard isText(place) else { return nil }
    let inner = bytes[place.lowerBound + 1..<place.upperBound - 1]
    guard inner.contains(UInt8(ascii: "\\")) else { return inner }
    return ArraySlice((try Self.text(bytes[place]) ?? "").utf8)
  }

  /// Writes a part of it behind what is there. A slice would count references.
  func append(_ place: Range<Int>, to out: inout [UInt8]) {
    bytes.withUnsafeBufferPointer {
      out.append(contentsOf: UnsafeBufferPointer(rebasing: $0[place]))
    }
  }

  /// Whether the string at a place, which is given without its quotes, is written with escapes.
  func hasEscapes(_ place: Range<Int>) -> Bool {
    hasEscapes && bytes[place].contains(UInt8(ascii: "\\"))
  }

  /// The text of a string; nil if it is another value.
  package static func text(_ raw: ArraySlice<UInt8>) throws(Fault) -> String? {
    guard raw.first == UInt8(ascii: "\"") else { return nil }
    let inner = raw.dropFirst().dropLast()
    guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
    var units: [UInt16] = []
    var out = ""
    func flush() {
      out += String(decoding: units, as: UTF16.self)
      units = []
    }
    var index = inner.startIndex
    var plain: [UInt8] = []
    while index < inner.endIndex {
      let byte = inner[index]
      guard byte == UInt8(ascii: "\\"), index + 1 < inner.endIndex else {
        if !units.isEmpty { flush() }
        plain.append(byte)
        index += 1
        continue
      }
      out += String(decoding: plain, as: UTF8.self)
      plain = []
      let kind = inner[index + 1]
      index += 2
      switch kind {
      case UInt8(ascii: "u"):
        guard index + 4 <= inner.endIndex,
          let unit = UInt16(String(decoding: inner[index..<index + 4], as: UTF8.self), radix: 16)
        else { throw Fault(offset: index, message: "expected four hex digits") }
        units.append(unit)
        index += 4
      default:
        if !units.isEmpty { flush() }
        let meant: [UInt8: UInt8] = [
          UInt8(ascii: "n"): 10, UInt8(ascii: "t"): 9, UInt8(ascii: "r"): 13,
          UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12,
        ]
        plain.append(meant[kind] ?? kind)
      }
    }
    if !units.isEmpty { flush() }
    return out + String(decoding: plain, as: UTF8.self)
  }

  private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

  private func fault(_ wanted: String) -> Fault {
    Fault(offset: at, message: "expected \(wanted)")
  }

  private mutating func skip() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
  }

  private mutating func take(_ byte: UInt8, _ what: String) throws(Fault) {
    skip()
    guard peek == byte else { throw fault(what) }
    at += 1
  }

  private mutating func isMore(_ closing: UInt8) throws(Fault) -> Bool {
    skip()
    defer { at += 1 }
    if peek == UInt8(ascii: ",") { return true }
    guard peek == closing else { throw fault("a comma") }
    return false
  }

  private mutating func end() throws(Fault) {
    skip()
    if at < bytes.count { throw fault("nothing more") }
  }

  private mutating func value(_ depth: Int) throws(Fault) -> Range<Int> {
    skip()
    let start = at
    guard depth < Self.deepest else { throw fault("less depth") }
    switch peek {
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      let isObject = peek == UInt8(ascii: "{")
      let closing = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
      at += 1
      skip()
      if peek == closing {
        at += 1
        break
      }
      while true {
        if isObject {
          skip()
          guard peek == UInt8(ascii: "\"") else { throw fault("a name") }
          try string()
          try take(UInt8(ascii: ":"), "a colon")
        }
        _ = try value(depth + 1)
        if try !isMore(closing) { break }
      }
    default:
      while let byte = peek, byte > 0x20, byte != 0x2C, byte != 0x5D, byte != 0x7D, byte != 0x3A {
        at += 1
      }
      let word = bytes[start..<at]
      let text = String(decoding: word, as: UTF8.self)
      let isNumber =
        word.first.map { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } == true
        && Double(text) != nil
      guard isNumber || ["true", "false", "null"].contains(text) else {
        at = start
        throw fault("a value")
      }
    }
    return start..<at
  }

  /// Whether a text can stand between quotes as it is.
  package static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while bytes.count - index >= 8 {
      if ends(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) != 0 { return false }
      index += 8
    }
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return false }
      index += 1
    }
    return true
  }

  /// Which of eight bytes are a quote, a backslash or a control character: the highest bit of each
  /// tells. That of a byte behind such a one may be a borrow, so only the lowest is sure.
  private static func ends(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    func below(_ word: UInt64, _ least: UInt64) -> UInt64 { (word &- ones &* least) & ~word }
    let ends = below(word, 0x20) | below(word ^ (ones &* 0x22), 1) | below(word ^ (ones &* 0x5C), 1)
    return ends & (ones &* 0x80)
  }

  private mutating func string() throws(Fault) {
    var index = at + 1
    // Most of what is read is text.
    let last = bytes.withUnsafeBytes { bytes -> UInt8? in
      while index < bytes.count {
        if bytes.count - index >= 8 {
          let ends = Self.ends(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
          index += ends == 0 ? 8 : ends.trailingZeroBitCount / 8
          if ends == 0 { continue }
        }
        let byte = bytes[index]
        if byte < 0x20 { return byte }
        index += byte == UInt8(ascii: "\\") ? 2 : 1
        if byte == UInt8(ascii: "\"") { return byte }
      }
      return nil
    }
    at = min(index, bytes.count)
    guard let last else { throw fault("a closing quote") }
    guard last == UInt8(ascii: "\"") else { throw fault("no control character") }
  }
}
