import Gateway

/// A notification as JSON for the page.
enum PushText {
  /// What a list and a lock screen need.
  static func summary(_ sighting: Sighting, _ strings: LocalizedStrings?) -> String {
    let banner = Banner(sighting.payloadBytes, strings)?.json ?? "null"
    return """
      {\(head(sighting)),"banner":\(banner),\(PayloadFindings.summary(of: sighting))}
      """
  }

  /// All there is to tell.
  static func details(_ sighting: Sighting) -> String {
    var fields: [FrameMap.Field] = []
    var headers: [Sighting.Header] = []
    switch sighting.form {
    case .binary: fields = FrameMap(sighting.bytes).fields
    case .http2(_, _, let given):
      headers = given
      if !sighting.bytes.isEmpty {
        fields = [
          FrameMap.Field(
            name: "payload", value: "\(sighting.bytes.count) bytes", range: sighting.payload)
        ]
      }
    }
    let fieldTexts = fields.map {
      """
      {"name":\(JSONText.string($0.name)),"value":\(JSONText.string($0.value)),\
      "offset":\($0.range.lowerBound),"length":\($0.range.count)}
      """
    }
    let headerTexts = headers.map { "[\(JSONText.string($0.name)),\(JSONText.string($0.value))]" }
    return """
      {\(head(sighting)),"bytes":"\(TokenField.hex(sighting.bytes))",\
      "payload_offset":\(sighting.payload.lowerBound),\
      "payload_length":\(sighting.payload.count),\
      "fields":[\(fieldTexts.joined(separator: ","))],\
      "headers":[\(headerTexts.joined(separator: ","))],\
      "findings":[\(PayloadFindings.all(of: sighting).joined(separator: ","))]}
      """
  }

  private static func head(_ sighting: Sighting) -> String {
    """
    "number":\(sighting.number),"time":\(sighting.time),"connection":\(sighting.connection),\
    \(form(sighting.form)),"fate":"\(sighting.fate)",\
    "status":\(sighting.status.map(String.init) ?? "null"),"reason":\(text(sighting.reason)),\
    "duplicate":\(sighting.isDuplicate),"token":"\(TokenField.hex(sighting.token))",\
    "topic":\(text(sighting.topic)),\
    "payload":\(JSONText.string(String(decoding: sighting.payloadBytes, as: UTF8.self)))
    """
  }

  private static func form(_ form: Sighting.Form) -> String {
    switch form {
    case .binary(let command, let identifier, let expiry, let priority):
      """
      "protocol":"binary","command":\(command),"identifier":\(number(identifier)),\
      "expiry":\(number(expiry)),"priority":\(number(priority))
      """
    case .http2(let stream, let identifier, _):
      "\"protocol\":\"http2\",\"stream\":\(stream),\"identifier\":\(JSONText.string(identifier))"
    }
  }

  private static func number(_ number: (some FixedWidthInteger)?) -> String {
    number.map { "\($0)" } ?? "null"
  }

  private static func text(_ text: String?) -> String { text.map(JSONText.string) ?? "null" }
}
