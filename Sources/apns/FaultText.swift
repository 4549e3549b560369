import Gateway

/// What there is to read of faults and of the control interface.
enum FaultText {
  static var list: String {
    FaultField.all.map { "  \($0.name)=\($0.value): \($0.text)" }.joined(separator: "\n")
  }

  static let control = """
      GET /counters: the totals so far
      GET /accepted?from=0&limit=1000: accepted notifications; "next" is where to go on
      GET /connections: those open to the gateway
      GET, POST, DELETE /unregistered: {"token": hex, "timestamp": seconds, now where missing}; \
    in the feedback once
      GET, PUT, PATCH, DELETE /faults: PUT sets these and ends all others, PATCH changes these, \
    DELETE ends all
      POST /reset: forgets counters, accepted and unregistered; faults stay
      POST /shutdown: ends the run
    """
}
