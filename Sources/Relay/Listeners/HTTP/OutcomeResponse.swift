/// Turns outcomes into the responses that APNs would have sent.
enum OutcomeResponse {
  /// `header` is the name of the ID's header field: `apns-id` or `apns-request-id`.
  static func of(_ end: OutcomeWaits.End, id: String, header: String) -> ListenerResponse {
    switch end {
    case .outcome(let outcome):
      return answer(outcome).with(header, outcome.apnsID.isEmpty ? id : outcome.apnsID.text)
    case .isAnothers:
      return .refusal(400, "BadMessageId", "\(header) \(id) was used for another notification")
        .with(header, id)
    case .none: return queued(id: id, header: header)
    }
  }

  /// It is queued, and has no outcome yet.
  static func queued(id: String, header: String) -> ListenerResponse {
    ListenerResponse(202).with(header, id)
  }

  private static func answer(_ outcome: PushOutcome) -> ListenerResponse {
    switch outcome.kind {
    case .accepted: ListenerResponse(200)
    case .rejected where !(400..<600).contains(outcome.httpStatus):
      .refusal(502, "Unknown", "APNs returned \(outcome.httpStatus) \(outcome.reason)")
    case .rejected:
      .refusal(
        outcome.httpStatus, outcome.reason, timestampMS: outcome.goneSince.map { $0 * 1000 })
    case .refused: .refusal(400, "BadRequest", outcome.reason)
    case .expired: .refusal(400, "Expired", outcome.reason)
    case .cancelled: .refusal(400, "Cancelled", "the operator cancelled it before it was sent")
    case .unknown: .refusal(502, "Unknown", outcome.reason)
    case .dead: .refusal(502, "TooManyDeliveries", outcome.reason)
    }
  }
}
