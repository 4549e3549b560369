import JSON

/// A request as a listener received it.
package struct ListenerRequest: Sendable {
  package var method: String
  /// The path with its query, if any.
  package var target: String
  /// The names are in lower case.
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]
  package var version: Version

  package enum Version: Sendable { case http1_0, http1_1, http2 }

  package init(
    _ method: String, _ target: String, _ headers: [(name: String, value: String)] = [],
    body: [UInt8] = [], version: Version = .http1_1
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
    self.version = version
  }

  /// The value of the first header field with this name.
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  func values(_ name: String) -> [String] {
    headers.compactMap { $0.name == name ? $0.value : nil }
  }

  /// The name of a single-valued header field that occurs more than once.
  var repeated: String? {
    var seen: Set<String> = []
    return headers.first { Self.isSingle($0.name) && !seen.insert($0.name).inserted }?.name
  }

  /// The name of a header field of the relay or APNs with bytes that were not UTF-8, and were
  /// replaced.
  var unreadable: String? {
    headers.first { Self.isSingle($0.name) && $0.value.unicodeScalars.contains("\u{FFFD}") }?.name
  }

  private static func isSingle(_ name: String) -> Bool {
    name.hasPrefix("apns-")
      || [
        "authorization", "relay-app", "relay-lane", "relay-due", "relay-campaign", "traceparent",
      ].contains(name)
  }
}

/// The response of a listener.
package struct ListenerResponse: Error, Equatable, Sendable {
  package var status: Int
  package var headers: [String: String] = [:]
  package var body = ""

  package init(_ status: Int, headers: [String: String] = [:], body: String = "") {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// A rejection in APNs' format. `message` is for people, and an addition of the relay.
  static func refusal(
    _ status: Int, _ reason: String, _ message: String? = nil, timestampMS: Int64? = nil
  ) -> Self {
    var members = ["\"reason\":\(JSONLiteral.string(reason))"]
    if let timestampMS { members.append("\"timestamp\":\(timestampMS)") }
    if let message { members.append("\"message\":\(JSONLiteral.string(message))") }
    return .json(status, "{\(members.joined(separator: ","))}")
  }

  static func json(_ status: Int, _ body: String) -> Self {
    Self(status, headers: ["content-type": "application/json"], body: body)
  }

  func with(_ name: String, _ value: String) -> Self {
    var answer = self
    answer.headers[name] = value
    return answer
  }
}
