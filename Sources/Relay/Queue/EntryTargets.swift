/// The devices of an entry, or its channel, and what each of them is sent, which is made when it is
/// sent. A class, because whoever looks at a structure of so many parts holds each of them.
package final class EntryTargets {
  /// Why an entry, or one device of it, cannot be sent.
  package struct Fault: Error, CustomStringConvertible {
    package var description: String
  }

  /// nil: it is one device or channel.
  private let list: TokenList?
  private let token: String
  private let payload: String

  package init(_ entry: NewEntry) throws(Fault) {
    payload = entry.payload
    token = entry.token ?? ""
    switch (entry.token, entry.tokens, entry.channel) {
    case (_?, nil, nil), (nil, nil, _?): list = nil
    case (nil, let tokens?, nil): list = try TokenList(tokens, entry.payload)
    case (nil, nil, nil):
      throw Fault(description: "the entry has no token, tokens or channel")
    default:
      throw Fault(description: "the entry has more than one of token, tokens and channel")
    }
  }

  package var count: Int { list?.count ?? 1 }
  package var isList: Bool { list != nil }

  /// The token at a place as it is written, as far as there is one; "" for a channel.
  package func token(at position: Int) -> WrittenToken {
    guard let list else { return WrittenToken(token) }
    return list.token(at: position) ?? ""
  }

  /// Gives `body` what the device at a place is sent: its token as it is written, and its payload. Both
  /// are there only meanwhile. `space` is where a payload is made: used again, it allocates nothing.
  @inline(__always)
  package func withPush<Result>(
    at position: Int, _ space: inout [UInt8],
    _ body: (_ token: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Result
  ) throws(Fault) -> Result {
    if let list { return try list.withPush(at: position, &space, body) }
    var (token, payload) = (token, payload)
    return token.withUTF8 { token in
      payload.withUTF8 { body(UnsafeRawBufferPointer(token), UnsafeRawBufferPointer($0)) }
    }
  }

  /// The lines in which an entry waits where the order is kept: a device is one, however its token is
  /// written, and so is a channel. What cannot be read waits for nobody.
  package static func lines(token: String?, tokens: String?, channel: String?) -> Set<String> {
    if let token { return [token.lowercased()] }
    if let channel { return ["channel \(channel)"] }
    guard let tokens, let list = try? TokenList(tokens, "") else { return [] }
    var lines: Set<String> = []
    for position in 0..<list.count {
      if let token = list.token(at: position) { lines.insert(token.text.lowercased()) }
    }
    return lines
  }
}
