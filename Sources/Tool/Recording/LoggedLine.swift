import CAPNS
import Client
import JSON

/// A line of a session's log in the log of its program, which may write more before it, or JSON.
struct LoggedLine {
  /// UNIX milliseconds; nil if the program did not write the time.
  var time: Int64?
  var line: SessionLine

  /// What each kind of line begins with, after the connection's number.
  private static let kinds = [
    ("> ", APNS_LOG_KIND_FRAME), ("< ", APNS_LOG_KIND_FRAME),
    ("connected", APNS_LOG_KIND_CONNECTED),
    ("no connection", APNS_LOG_KIND_CONNECT_FAILED),
    ("no standby connection", APNS_LOG_KIND_CONNECT_FAILED),
    ("the service sent GOAWAY", APNS_LOG_KIND_GOAWAY),
    ("the peer ended it", APNS_LOG_KIND_DISCONNECTED), ("ended with", APNS_LOG_KIND_DISCONNECTED),
    ("given up", APNS_LOG_KIND_ABANDONED),
  ].map { (beginning: Array($0.0.utf8), kind: $0.1) }

  /// nil if the recorder does not need it.
  init?(_ bytes: [UInt8]) {
    var text = bytes
    if bytes.first == UInt8(ascii: "{"), let json = try? JSONParser.read(bytes) {
      text = Self.message(in: json)
    }
    guard let line = Self.line(in: text) else { return nil }
    self.line = line
    time = LoggedTime.first(in: bytes)
  }

  private static func message(in json: JSONValue) -> [UInt8] {
    guard case .object(let members) = json.content else { return [] }
    let texts = members.compactMap { $0.value.string.map { Array($0.utf8) } }
    return texts.first { line(in: $0) != nil } ?? []
  }

  private static func line(in bytes: [UInt8]) -> SessionLine? {
    guard let start = bytes.firstRange(of: Array("connection ".utf8)) else {
      let hasReason = bytes.firstRange(of: Array(" answered ".utf8)) != nil
      return hasReason
        ? SessionLine(APNS_LOG_KIND_RETRY, on: 0, milliseconds: 0, text: text(bytes)) : nil
    }
    let digits = bytes[start.upperBound...].prefix { (0x30...0x39).contains($0) }
    let words = bytes[digits.endIndex...]
    guard words.starts(with: Array(": ".utf8)), let connection = UInt32(text(digits)),
      let kind = kinds.first(where: { words.dropFirst(2).starts(with: $0.beginning) })?.kind
    else { return nil }
    let shown = text(bytes[start.lowerBound...])
    return SessionLine(kind, on: connection, milliseconds: duration(shown), text: shown)
  }

  /// `… in 43 ms, TLS session resumed`.
  private static func duration(_ text: String) -> UInt32 {
    let words = text.split { " ,".contains($0) }
    return words.firstIndex(of: "ms").flatMap { $0 > 0 ? UInt32(words[$0 - 1]) : nil } ?? 0
  }

  private static func text(_ bytes: some Collection<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
