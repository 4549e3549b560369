/// The devices of an entry, or its channel, and the payload for each, which is built when it is
/// sent. A class, because each access to a structure of this size would retain all of its fields.
package final class EntryTargets {
  /// nil for a single device or a channel.
  private let list: TokenList?
  private let token: String
  private let payload: String

  package init(_ entry: NewEntry) throws(RelayFault) {
    payload = entry.payload
    token = entry.token ?? ""
    switch (entry.token, entry.tokens, entry.channel) {
    case (_?, nil, nil), (nil, nil, _?): list = nil
    case (nil, let tokens?, nil): list = try TokenList(tokens, entry.payload)
    case (nil, nil, nil):
      throw RelayFault("the entry has no token, tokens or channel")
    default:
      throw RelayFault("the entry has more than one of token, tokens and channel")
    }
  }

  package var count: Int { list?.count ?? 1 }
  package var isList: Bool { list != nil }

  /// The token at a position as it is written; "" for a channel or an unreadable element.
  package func token(at position: Int) -> WrittenToken {
    guard let list else { return WrittenToken(token) }
    return list.token(at: position) ?? ""
  }

  /// Passes the device token, as it is written, and the payload to `body`. The buffers are valid
  /// only during the call. A payload is built in `space`, which is reused and so allocates only
  /// once.
  @inline(__always)
  package func withPush<Result>(
    at position: Int, _ space: inout [UInt8],
    _ body: (_ token: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Result
  ) throws(RelayFault) -> Result {
    if let list { return try list.withPush(at: position, &space, body) }
    var (token, payload) = (token, payload)
    return token.withUTF8 { token in
      payload.withUTF8 { body(UnsafeRawBufferPointer(token), UnsafeRawBufferPointer($0)) }
    }
  }

  /// The keys of the lines in which an entry waits for its turn: one for each device, in any case
  /// of its digits, or one for the channel. Each lane has its own. An unreadable entry waits for no
  /// other.
  package static func lines(
    token: String?, tokens: String?, channel: String?, lane: Lane = .normal
  ) -> Set<String> {
    let start = lane == .normal ? "" : "\(lane) "
    if let token { return [start + token.lowercased()] }
    if let channel { return ["\(start)channel \(channel)"] }
    guard let tokens, let list = try? TokenList(tokens, "") else { return [] }
    var lines: Set<String> = []
    for position in 0..<list.count {
      if let token = list.token(at: position) { lines.insert(start + token.text.lowercased()) }
    }
    return lines
  }
}
