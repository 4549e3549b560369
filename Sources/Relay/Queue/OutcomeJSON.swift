import JSON

extension OutcomeRow {
  /// An object with the names of the queue's columns.
  package func json(app: String) -> String {
    // In Redis a number is text.
    let number = Int64(number) == nil ? JSONLiteral.string(number) : number
    let trace = traceparent.map { ",\"traceparent\":\(JSONLiteral.string($0))" } ?? ""
    return """
      {"number":\(number),"app":\(JSONLiteral.string(app)),"id":\(JSONLiteral.string(id)),\
      "position":\(outcome.position),"token":\(JSONLiteral.string(outcome.token.text)),\
      "outcome":"\(outcome.kind.rawValue)","reason":\(JSONLiteral.string(outcome.reason)),\
      "http_status":\(outcome.httpStatus),"apns_id":\(JSONLiteral.string(outcome.apnsID.text)),\
      "deliveries":\(deliveries),"at":\(at)\(trace)}
      """
  }
}
