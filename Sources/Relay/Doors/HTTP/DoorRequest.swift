/// A request as a door got it.
package struct DoorRequest: Equatable, Sendable {
  package var method: String
  /// With its query, if it has one.
  package var target: String
  /// The names in small letters.
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

  package static func == (one: Self, other: Self) -> Bool {
    one.method == other.method && one.target == other.target && one.body == other.body
      && one.headers.elementsEqual(other.headers) { $0 == $1 }
  }

  /// The first with this name.
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  func values(_ name: String) -> [String] {
    headers.compactMap { $0.name == name ? $0.value : nil }
  }

  /// A header that has one value, and is there more than once.
  var repeated: String? {
    var seen: Set<String> = []
    return headers.first { Self.isSingle($0.name) && !seen.insert($0.name).inserted }?.name
  }

  /// A header of the relay's or of APNs' with bytes that are not UTF-8: they were replaced.
  var unreadable: String? {
    headers.first { Self.isSingle($0.name) && $0.value.unicodeScalars.contains("\u{FFFD}") }?.name
  }

  private static func isSingle(_ name: String) -> Bool {
    name.hasPrefix("apns-") || ["authorization", "relay-app"].contains(name)
  }
}

/// What a door answers.
package struct DoorAnswer: Error, Equatable, Sendable {
  package var status: Int
  package var headers: [String: String] = [:]
  package var body = ""

  package init(_ status: Int, headers: [String: String] = [:], body: String = "") {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// As APNs says no. `message` is for people, and the relay's own.
  static func refusal(
    _ status: Int, _ reason: String, _ message: String? = nil, timestampMS: Int64? = nil
  ) -> Self {
    var members = ["\"reason\":\(RawJSON.quoted(reason))"]
    if let timestampMS { members.append("\"timestamp\":\(timestampMS)") }
    if let message { members.append("\"message\":\(RawJSON.quoted(message))") }
    return Self(
      status, headers: ["content-type": "application/json"],
      body: "{\(members.joined(separator: ","))}")
  }

  func with(_ name: String, _ value: String) -> Self {
    var answer = self
    answer.headers[name] = value
    return answer
  }
}
