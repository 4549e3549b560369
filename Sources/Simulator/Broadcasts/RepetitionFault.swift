import NIOHPACK

extension RecentPush {
  /// The reason why it cannot be repeated; nil if it can. The library gives a broadcast every
  /// header that Apple requires, so a rejected broadcast without a header would arrive as a
  /// different one.
  package var repetitionFault: String? {
    if isCut { return "push \(number) has a payload that was truncated" }
    guard broadcast != nil, case .http2(_, _, let headers) = form else {
      return token.isEmpty || payload.isEmpty
        ? "push \(number) has no device token or no payload to resend" : nil
    }
    var request = ReceivedPush(HPACKHeaders(headers.map { ($0.name, $0.value) }))
    request.payloadCount = payload.count
    return BroadcastRules.fault(of: request).map {
      "push \(number) is a malformed broadcast (\($0.word)), which cannot be resent"
    }
  }
}
