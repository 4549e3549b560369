import Glibc

/// JSON text, parsed only as deeply as an entry's tokens require.
package struct RawJSON {
  package struct Fault: Error, CustomStringConvertible {
    package var offset: Int
    package var message: String
    package var description: String { "\(message), at byte \(offset + 1)" }
  }

  /// A member of an object as it is written, the name with its quotes.
  package struct Member {
    var name: Range<Int>
    var value: Range<Int>
  }

  private static let deepest = 64
  /// The limit for the members of all elements: 32 for each of a thousand devices.
  private static let mostKept = 32_000

  let bytes: [UInt8]
  /// Whether the text has any escape, which is rare.
  private let hasEscapes: Bool
  private var at = 0

  package init(_ text: String) {
    bytes = Array(text.utf8)
    hasEscapes = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { memchr($0, 0x5C, bytes.count) != nil } ?? false
    }
  }

  /// Whether the text is exactly one JSON value.
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

  /// The ranges of an array's elements.
  package mutating func elements() throws(Fault) -> [Range<Int>] {
    var (members, ends) = ([Member](), [Int]())
    return try elements(&members, &ends, areWanted: false)
  }

  /// The ranges of an array's elements, with the members of the objects among them. `ends` has the
  /// number of members up to and including each element. If there are too many members to keep,
  /// `members` and `ends` are empty.
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

  /// The members of an object: names as text, values as they are written.
  package mutating func members() throws(Fault) -> [(name: String, value: ArraySlice<UInt8>)] {
    var all: [Member] = []
    try members(into: &all)
    try end()
    return try all.map { member throws(Fault) in
      (String(decoding: try text(member.name) ?? [], as: UTF8.self), bytes[member.value])
    }
  }

  /// The members of an object at a range that was parsed before. A fault's offset counts from its
  /// start.
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

  /// The last member with this name in the range `places`.
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

  /// Whether the member has this name.
  private func isName(of member: Member, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    let written = member.name.lowerBound + 1..<member.name.upperBound - 1
    if written.count == name.count {
      return bytes.withUnsafeBytes { bytes in
        name.isEmpty
          || memcmp(bytes.baseAddress! + written.lowerBound, name.baseAddress!, name.count) == 0
      }
    }
    // Escapes make a name longer.
    guard written.count > name.count, hasEscapes(written) else { return false }
    return (try? text(member.name))??.elementsEqual(name) == true
  }

  /// Whether the value at a range is a string.
  package func isText(_ place: Range<Int>) -> Bool {
    !place.isEmpty && bytes[place.lowerBound] == UInt8(ascii: "\"")
  }

  /// The string at a range, in UTF-8; nil for another type. Copies only if it has escapes.
  package func text(_ place: Range<Int>) throws(Fault) -> ArraySlice<UInt8>? {
    guard isText(place) else { return nil }
    let inner = bytes[place.lowerBound + 1..<place.upperBound - 1]
    guard inner.contains(UInt8(ascii: "\\")) else { return inner }
    return ArraySlice((try Self.text(bytes[place]) ?? "").utf8)
  }

  /// Appends a range of the source to `out`. A slice would cost reference counting.
  func append(_ place: Range<Int>, to out: inout [UInt8]) {
    bytes.withUnsafeBufferPointer {
      out.append(contentsOf: UnsafeBufferPointer(rebasing: $0[place]))
    }
  }

  /// Whether the string at a range, given without its quotes, has escapes.
  func hasEscapes(_ place: Range<Int>) -> Bool {
    hasEscapes && bytes[place].contains(UInt8(ascii: "\\"))
  }

  /// The text of a string; nil for another type.
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

  /// Whether a text may stand between quotes unchanged.
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

  /// Marks quotes, backslashes and control characters in eight bytes by the highest bit of each. A
  /// mark above the lowest one may come from a borrow, so only the lowest is certain.
  private static func ends(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    func below(_ word: UInt64, _ least: UInt64) -> UInt64 { (word &- ones &* least) & ~word }
    let ends = below(word, 0x20) | below(word ^ (ones &* 0x22), 1) | below(word ^ (ones &* 0x5C), 1)
    return ends & (ones &* 0x80)
  }

  private mutating func string() throws(Fault) {
    var index = at + 1
    // Most of the input is strings.
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
