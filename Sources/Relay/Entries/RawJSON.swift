import APNS
import Glibc
import JSON

/// JSON text, read by the library's reader only as deeply as an entry's tokens require.
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

  private static let maxDepth = 64
  /// The limit for the members of all elements: 32 for each of a thousand devices.
  private static let mostKept = 32_000

  let bytes: [UInt8]
  /// Whether the text has any escape, which is rare.
  private let hasEscapes: Bool

  package init(_ text: String) {
    bytes = Array(text.utf8)
    hasEscapes = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { memchr($0, 0x5C, bytes.count) != nil } ?? false
    }
  }

  /// Whether the text is exactly one JSON value.
  package static func isValue(_ text: String) -> Bool {
    (try? RawJSON(text).read { reader throws(JSONFault) in _ = try value(of: &reader) }) != nil
  }

  /// The ranges of an array's elements.
  package func elements() throws(Fault) -> [Range<Int>] {
    var (members, ends) = ([Member](), [Int]())
    return try elements(&members, &ends, areWanted: false)
  }

  /// The ranges of an array's elements, with the members of the objects among them. `ends` has the
  /// number of members up to and including each element. If there are too many members to keep,
  /// `members` and `ends` are empty.
  package func elements(
    _ members: inout [Member], _ ends: inout [Int]
  ) throws(Fault) -> [Range<Int>] {
    try elements(&members, &ends, areWanted: true)
  }

  private func elements(
    _ members: inout [Member], _ ends: inout [Int], areWanted: Bool
  ) throws(Fault) -> [Range<Int>] {
    var all: [Range<Int>] = []
    var areWanted = areWanted
    try read(UInt8(ascii: "[")) { reader throws(JSONFault) in
      while case let token = try reader.next(), token != .endArray {
        let start = reader.start
        if areWanted, token == .beginObject {
          try Self.readMembers(of: &reader, into: &members)
          all.append(start..<reader.end)
        } else {
          all.append(try Self.rest(of: token, &reader))
        }
        if areWanted { ends.append(members.count) }
        if members.count > Self.mostKept { (members, ends, areWanted) = ([], [], false) }
      }
    }
    return all
  }

  /// The members of an object: names as text, values as they are written.
  package func members() throws(Fault) -> [(name: String, value: ArraySlice<UInt8>)] {
    var all: [Member] = []
    try members(of: bytes.indices, into: &all)
    return all.map { (text($0.name) ?? "", bytes[$0.value]) }
  }

  /// The members of an object at a range. A fault's offset counts from its start.
  package func members(of place: Range<Int>, into all: inout [Member]) throws(Fault) {
    let known = all.count
    try read(UInt8(ascii: "{"), in: place) { reader throws(JSONFault) in
      try Self.readMembers(of: &reader, into: &all)
    }
    guard place.lowerBound > 0 else { return }
    for index in known..<all.count {
      all[index].name = all[index].name.moved(by: place.lowerBound)
      all[index].value = all[index].value.moved(by: place.lowerBound)
    }
  }

  /// After the beginning of an object: its members.
  private static func readMembers(
    of reader: inout JSONReader, into all: inout [Member]
  ) throws(JSONFault) {
    while try reader.next() == .name {
      let name = reader.start - 1..<reader.end + 1
      all.append(Member(name: name, value: try value(of: &reader)))
    }
  }

  private static func value(of reader: inout JSONReader) throws(JSONFault) -> Range<Int> {
    try rest(of: try reader.next(), &reader)
  }

  /// The range of the value that begins with this token, a string's with its quotes.
  private static func rest(
    of token: JSONReader.Token, _ reader: inout JSONReader
  ) throws(JSONFault) -> Range<Int> {
    if token == .string { return reader.start - 1..<reader.end + 1 }
    let start = reader.start
    try reader.skip(token)
    return start..<reader.end
  }

  /// Reads the text, or a range of it, to its end. `bracket` is the token with which it begins.
  private func read(
    _ bracket: UInt8? = nil, in place: Range<Int>? = nil,
    _ body: (inout JSONReader) throws(JSONFault) -> Void
  ) throws(Fault) {
    try bytes.withUnsafeBufferPointer { bytes throws(Fault) in
      let text = UnsafeRawBufferPointer(
        UnsafeBufferPointer(rebasing: bytes[place ?? bytes.indices]))
      // The reader skips a byte order mark, which would get into payloads.
      guard !text.starts(with: [0xEF, 0xBB, 0xBF]) else {
        throw Fault(offset: 0, message: Self.words(of: .value))
      }
      let start = text.firstIndex { ![0x20, 0x0A, 0x0D, 0x09].contains($0) } ?? text.count
      if let bracket, start == text.count || text[start] != bracket {
        throw Fault(
          offset: start,
          message: bracket == UInt8(ascii: "[") ? "expected an array" : "expected an object")
      }
      var reader = JSONReader(text, within: JSONReader.deepest - Self.maxDepth)
      do throws(JSONFault) {
        if bracket != nil { _ = try reader.next() }
        try body(&reader)
        _ = try reader.next()
      } catch {
        throw Fault(offset: error.offset, message: Self.words(of: error.reason))
      }
    }
  }

  private static func words(of reason: JSONFault.Reason) -> String {
    reason == .tooDeep
      ? "nested deeper than \(maxDepth)" : String(decoding: reason.words, as: UTF8.self)
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
    return text(member.name)?.utf8.elementsEqual(name) == true
  }

  /// Whether the value at a range is a string.
  package func isText(_ place: Range<Int>) -> Bool {
    !place.isEmpty && bytes[place.lowerBound] == UInt8(ascii: "\"")
  }

  /// The text of the string at a range; nil for another type.
  package func text(_ place: Range<Int>) -> String? { Self.text(bytes[place]) }

  /// The text of a string as it is written; nil for another type.
  package static func text(_ written: ArraySlice<UInt8>) -> String? {
    guard written.first == UInt8(ascii: "\"") else { return nil }
    return written.dropFirst().dropLast().withUnsafeBytes { JSONLiteral.text($0) }
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
}

extension Range<Int> {
  fileprivate func moved(by distance: Int) -> Self { lowerBound + distance..<upperBound + distance }
}
