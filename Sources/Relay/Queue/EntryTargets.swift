/// The devices of an entry, or its channel, and what each of them is sent. A list is read once and
/// kept as it is written: what a device is sent is made when it is sent. A class, because whoever looks
/// at a structure of so many parts holds each of them.
package final class EntryTargets {
  /// Why an entry, or one device of it, cannot be sent.
  package struct Fault: Error, CustomStringConvertible {
    package var description: String
  }

  /// What one device is sent. Used again for the next one, so that it allocates nothing.
  package struct Push {
    /// As it is written.
    package var token: [UInt8] = []
    package var payload: [UInt8] = []
    fileprivate var members: [RawJSON.Member] = []

    package init() {}
  }

  private struct List {
    var json: RawJSON
    var elements: [Range<Int>]
    /// Of all elements; `ends` has how many there are up to each of them. Both are empty where there are
    /// too many.
    var members: [RawJSON.Member]
    var ends: [Int]
    var template: PayloadTemplate
  }

  /// nil: it is one device or channel.
  private let list: List?
  /// The token in each element of a list, once it was sent: what is asked first is asked again. One
  /// that is written with escapes is not kept. Not in the list, which would be copied for each.
  private var places: [Range<Int>?] = []
  private let token: String
  private let payload: String

  package init(_ entry: NewEntry) throws(Fault) {
    payload = entry.payload
    token = entry.token ?? ""
    let given = (entry.token, entry.tokens, entry.channel)
    switch given {
    case (_?, nil, nil), (nil, nil, _?): list = nil
    case (nil, let tokens?, nil): list = try Self.read(tokens, entry.payload)
    case (nil, nil, nil):
      throw Fault(description: "the entry has no token, tokens or channel")
    default:
      throw Fault(description: "the entry has more than one of token, tokens and channel")
    }
    if let list { places = [Range<Int>?](repeating: nil, count: list.elements.count) }
  }

  private static func read(_ tokens: String, _ payload: String) throws(Fault) -> List {
    var json = RawJSON(tokens)
    let elements: [Range<Int>]
    var (members, ends) = ([RawJSON.Member](), [Int]())
    do {
      elements = try json.elements(&members, &ends)
    } catch {
      throw Fault(description: "tokens: \(error)")
    }
    guard (1...NewEntry.mostTokens).contains(elements.count) else {
      throw Fault(
        description:
          "tokens: \(elements.count) of them, but 1 to \(NewEntry.mostTokens) are one entry")
    }
    return List(
      json: json, elements: elements, members: members, ends: ends,
      template: PayloadTemplate(payload))
  }

  package var count: Int { list?.elements.count ?? 1 }
  package var isList: Bool { list != nil }

  /// The token at a place as it is written, as far as there is one; "" for a channel.
  package func token(at position: Int) -> String {
    guard let list else { return token }
    if let place = places[position] {
      return String(decoding: list.json.bytes[place], as: UTF8.self)
    }
    var members: [RawJSON.Member] = []
    guard let place = try? Self.token(list, position, &members),
      let text = try? list.json.text(place)
    else { return "" }
    return String(decoding: text, as: UTF8.self)
  }

  /// What the device at a place is sent.
  package func make(_ push: inout Push, at position: Int) throws(Fault) {
    push.token.removeAll(keepingCapacity: true)
    push.payload.removeAll(keepingCapacity: true)
    guard let list else {
      push.token.append(contentsOf: token.utf8)
      push.payload.append(contentsOf: payload.utf8)
      return
    }
    let place = try Self.token(list, position, &push.members)
    do {
      try list.json.append(textAt: place, to: &push.token)
    } catch {
      throw Fault(description: "\(error)")
    }
    // What has as many bytes as between its quotes has no escapes.
    if push.token.count == place.count - 2 {
      places[position] = place.lowerBound + 1..<place.upperBound - 1
    }
    try list.template.fill(push.members, of: list.json, into: &push.payload)
  }

  /// Where the token is, with its quotes. `members` gets those of the device's object; none if there
  /// is only its token.
  private static func token(
    _ list: List, _ position: Int, _ members: inout [RawJSON.Member]
  ) throws(Fault) -> Range<Int> {
    let element = list.elements[position]
    members.removeAll(keepingCapacity: true)
    if list.json.isText(element) { return element }
    if list.ends.isEmpty || list.json.bytes[element.lowerBound] != UInt8(ascii: "{") {
      do {
        try list.json.members(of: element, into: &members)
      } catch {
        throw Fault(description: "\(error)")
      }
    } else {
      let own = (position > 0 ? list.ends[position - 1] : 0)..<list.ends[position]
      list.members.withUnsafeBufferPointer {
        members.append(contentsOf: UnsafeBufferPointer(rebasing: $0[own]))
      }
    }
    guard let member = members.last(where: { list.json.isName(of: $0, Self.token) }),
      list.json.isText(member.value)
    else { throw Fault(description: "there is no token in it") }
    return member.value
  }

  private static let token = Array("token".utf8)

  /// The lines in which an entry waits where the order is kept: a device is one, however its token is
  /// written, and so is a channel. What cannot be read waits for nobody.
  package static func lines(token: String?, tokens: String?, channel: String?) -> Set<String> {
    if let token { return [token.lowercased()] }
    if let channel { return ["channel \(channel)"] }
    guard let tokens, let list = try? read(tokens, "") else { return [] }
    var members: [RawJSON.Member] = []
    var lines: Set<String> = []
    for position in list.elements.indices {
      guard let place = try? Self.token(list, position, &members),
        let text = try? list.json.text(place)
      else { continue }
      lines.insert(String(decoding: text, as: UTF8.self).lowercased())
    }
    return lines
  }
}
