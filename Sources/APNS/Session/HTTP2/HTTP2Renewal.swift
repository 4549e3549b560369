import CAPNS

/// Credential rotation in a running session. A connection with old credentials starts no more
/// streams and is closed after its last response, as after GOAWAY. That goes for provider tokens
/// too: APNs ties a connection to the first one's key.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// The network's next connections show other credentials than those it has.
  mutating func replaceConnections(_ tokens: consuming Tokens?) {
    self.tokens = tokens
    bearer.forget()
    for number in 0..<connectionCount {
      let connection = connections + number
      switch connection.pointee.phase {
      case .closed: break
      case .opening: close(connection)
      case .open where connection.pointee.isReplaced: break
      case .open:
        connection.pointee.isReplaced = true
        connection.pointee.codec.pointee.drainUnsent()
        // Generations of the new token start again.
        outbox.pointee.forEachInFlight(on: UInt16(truncatingIfNeeded: number)) {
          $0.tokenReplaced($1)
        }
      }
    }
    if options.neverWaits { wake() }
  }

  /// Throws if something was queued without a topic, which only a certificate can supply.
  func requireTopics(for tokens: borrowing Tokens?) throws(Failure) {
    guard tokens != nil, self.tokens == nil, outbox.pointee.lacksTopic else { return }
    throw Failure(
      APNS_ERR_ARGUMENT,
      "notifications without a topic are under way, and a provider token needs one: drain first",
      cause: APNS_CAUSE_TOPIC)
  }
}
