import JSON
import Simulator

/// A notification as JSON for the page.
enum PushJSON {
  /// For the list and the lock screen.
  static func summary(_ push: RecentPush, _ strings: LocalizedStrings?) -> String {
    let findings = PayloadFindings.summary(of: push)
    return """
      {\(head(push, strings)),"findings":\(findings.count),"error":\(findings.hasError)}
      """
  }

  /// With all details.
  static func details(_ push: RecentPush, _ strings: LocalizedStrings?) -> String {
    var fields: [FrameMap.Field] = []
    var headers: [RecentPush.Header] = []
    switch push.form {
    case .binary: fields = FrameMap(push.bytes).fields
    case .http2(_, _, let given):
      headers = given
      if !push.bytes.isEmpty {
        fields = [
          FrameMap.Field(
            name: "payload", value: "\(push.bytes.count) bytes", range: push.payload)
        ]
      }
    }
    let fieldTexts = fields.map {
      """
      {"name":\(JSONLiteral.string($0.name)),"value":\(JSONLiteral.string($0.value)),\
      "offset":\($0.range.lowerBound),"length":\($0.range.count)}
      """
    }
    let headerTexts = headers.map {
      "[\(JSONLiteral.string($0.name)),\(JSONLiteral.string($0.value))]"
    }
    return """
      {\(head(push, strings)),"bytes":"\(TokenField.hex(push.bytes))",\
      "payload_offset":\(push.payload.lowerBound),\
      "payload_length":\(push.payload.count),\
      "fields":[\(fieldTexts.joined(separator: ","))],\
      "headers":[\(headerTexts.joined(separator: ","))],\
      "repetition_fault":\(JSONLiteral.string(push.repetitionFault)),\
      "findings":[\(PayloadFindings.all(of: push).joined(separator: ","))]}
      """
  }

  private static func head(_ push: RecentPush, _ strings: LocalizedStrings?) -> String {
    """
    "number":\(push.number),"time":\(push.time),"connection":\(push.connection),\
    \(form(push.form)),"outcome":"\(push.outcome.rawValue)",\
    "status":\(push.status.map(String.init) ?? "null"),"reason":\(JSONLiteral.string(push.reason)),\
    "duplicate":\(push.isDuplicate),"token":"\(TokenField.hex(push.token))",\
    "topic":\(JSONLiteral.string(push.topic)),"unique_id":\(JSONLiteral.string(push.uniqueIdentifier)),\
    "channel":\(JSONLiteral.string(push.broadcast?.channel)),"devices":\(number(push.broadcast?.devices)),\
    "payload":\(JSONLiteral.string(String(decoding: push.payloadBytes, as: UTF8.self))),\
    "banner":\(PushBanner(push.payloadBytes, strings)?.json ?? "null")
    """
  }

  private static func form(_ form: RecentPush.Form) -> String {
    switch form {
    case .binary(let command, let identifier, let expiry, let priority):
      """
      "protocol":"binary","command":\(command),"identifier":\(number(identifier)),\
      "expiry":\(number(expiry)),"priority":\(number(priority))
      """
    case .http2(let stream, let identifier, _):
      "\"protocol\":\"http2\",\"stream\":\(stream),\"identifier\":\(JSONLiteral.string(identifier))"
    }
  }

  private static func number(_ number: (some FixedWidthInteger)?) -> String {
    number.map { "\($0)" } ?? "null"
  }
}
