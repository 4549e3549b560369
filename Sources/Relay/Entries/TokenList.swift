/// The devices of an entry: an array of tokens, or of objects with a token and values, and the
/// payload with placeholders for the values. The list is parsed once and kept as text.
final class TokenList {
  private let json: RawJSON
  private let elements: [Range<Int>]
  /// The members of all elements; `ends` has the number of members up to each element. If there are
  /// too many, `members` and `ends` are empty.
  private let members: [RawJSON.Member]
  private let ends: [Int]
  private let template: PayloadTemplate

  init(_ tokens: String, _ payload: String) throws(RelayFault) {
    let json = RawJSON(tokens)
    var (members, ends) = ([RawJSON.Member](), [Int]())
    do {
      elements = try json.elements(&members, &ends)
    } catch {
      throw RelayFault("tokens: \(error)")
    }
    (self.json, self.members, self.ends) = (json, members, ends)
    template = PayloadTemplate(payload)
    guard (1...NewEntry.mostTokens).contains(count) else {
      throw RelayFault("tokens: \(count) of them; an entry has 1 to \(NewEntry.mostTokens)")
    }
  }

  var count: Int { elements.count }

  /// See `EntryTargets`.
  @inline(__always)
  func withPush<Result>(
    at position: Int, _ space: inout [UInt8],
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
  ) throws(RelayFault) -> Result {
    var read: [RawJSON.Member] = []
    let device = try device(at: position, &read)
    let text = Self.unquoted(device.token)
    let escaped = json.hasEscapes(text) ? Array((json.text(device.token) ?? "").utf8) : nil
    if !template.isPlain {
      space.removeAll(keepingCapacity: true)
      if let own = device.members {
        try template.fill(members, own, of: json, into: &space)
      } else {
        try template.fill(read, read.indices, of: json, into: &space)
      }
    }
    return (template.isPlain ? template.source : space).withUnsafeBytes { payload in
      if let escaped { return escaped.withUnsafeBytes { body($0, payload) } }
      return json.bytes.withUnsafeBytes {
        body(UnsafeRawBufferPointer(rebasing: $0[text]), payload)
      }
    }
  }

  /// The token at a position as it is written; nil if it is unreadable.
  func token(at position: Int) -> WrittenToken? {
    var read: [RawJSON.Member] = []
    guard let device = try? device(at: position, &read) else { return nil }
    let text = Self.unquoted(device.token)
    guard json.hasEscapes(text) else { return WrittenToken(text, of: json.bytes) }
    return json.text(device.token).map { WrittenToken($0) }
  }

  private static func unquoted(_ place: Range<Int>) -> Range<Int> {
    place.lowerBound + 1..<place.upperBound - 1
  }

  /// The range of a device's token, with its quotes, and its range in `members`. nil if the list
  /// had too many members: they are parsed into `read` now.
  private func device(
    at position: Int, _ read: inout [RawJSON.Member]
  ) throws(RelayFault) -> (token: Range<Int>, members: Range<Int>?) {
    let element = elements[position]
    if json.isText(element) { return (element, 0..<0) }
    if !ends.isEmpty, json.bytes[element.lowerBound] == UInt8(ascii: "{") {
      let own = (position > 0 ? ends[position - 1] : 0)..<ends[position]
      return (try token(members, own), own)
    }
    do {
      try json.members(of: element, into: &read)
    } catch {
      throw RelayFault("\(error)")
    }
    return (try token(read, read.indices), nil)
  }

  private func token(_ members: [RawJSON.Member], _ own: Range<Int>) throws(RelayFault) -> Range<
    Int
  > {
    let member = Self.name.withUnsafeBufferPointer { json.last($0, of: members, own) }
    guard let member, json.isText(member.value) else {
      throw RelayFault("\"token\" is missing")
    }
    return member.value
  }

  private static let name = Array("token".utf8)
}
