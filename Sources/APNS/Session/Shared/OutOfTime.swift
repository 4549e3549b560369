import CAPNS

/// Why a call ran out of time, for the message to the caller.
struct OutOfTime {
  private var isStalled = false
  private var isOpening = false

  /// Takes note of one of the session's connections.
  @inline(never)
  mutating func note(_ connection: SessionLink) {
    if connection.phase == .open, connection.stalledSince != nil { isStalled = true }
    if connection.phase == .opening { isOpening = true }
  }

  @inline(never)
  func failure<Net: Network & ~Copyable>(
    on network: borrowing Net, _ reconnects: Reconnects, isConnected: Bool,
    unresolved: Int
  ) -> Failure {
    let isPausing = !isConnected && reconnects.earliest > network.now
    let unproductive = isPausing ? reconnects.unproductive : nil
    let reason = reconnects.reason.failure
    return Failure(
      APNS_ERR_TIMEOUT,
      // Why the last connection failed is why time ran out.
      cause: reason?.cause
        ?? (isStalled
          ? APNS_CAUSE_WRITE_TIMEOUT
          : isOpening
            ? APNS_CAUSE_CONNECT_TIMEOUT
            : unproductive == nil ? APNS_CAUSE_ANSWER_TIMEOUT : APNS_CAUSE_RECONNECT_PAUSE)
    ) {
      if isStalled {
        $0.append("time ran out while writing to ")
        network.append(to: &$0)
      } else if isOpening {
        $0.append("time ran out while connecting to ")
        network.append(to: &$0)
        network.appendAdvice(to: &$0)
      } else if let unproductive {
        $0.append("waiting to reconnect to ")
        network.append(to: &$0)
        if unproductive > 0 {
          $0.append(" after ")
          $0.append(unproductive)
          $0.append(" connections that achieved nothing")
          network.appendAdvice(to: &$0)
        } else {
          $0.append(", because connects_per_minute is reached")
        }
      } else {
        $0.append(unresolved)
        $0.append(" notifications still wait for an answer from ")
        network.append(to: &$0)
      }
      if let reason {
        $0.append("; the last connection: ")
        reason.append(to: &$0)
      }
    }
  }

  /// The failure of a call when the peer has taken nothing for `time`.
  @inline(never)
  static func stalled<Net: Network & ~Copyable>(
    for time: Nanoseconds, on network: borrowing Net
  ) -> Failure {
    Failure(APNS_ERR_TIMEOUT, cause: APNS_CAUSE_WRITE_TIMEOUT) {
      $0.append("the peer took no data for ")
      $0.append(Int(time / 1_000_000))
      $0.append(" ms: ")
      network.append(to: &$0)
    }
  }
}
