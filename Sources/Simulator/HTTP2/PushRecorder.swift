import BinaryServer

/// Counts and records the pushes of one connection, and hands them over in batches, so that a push
/// does not need a lock. Channel management requests are not recorded.
final class PushRecorder {
  private let connection: Int
  private let ledger: Ledger

  private var batch: RecordBatch
  /// For the page, which also shows headers.
  let keepsRecentPushes: Bool
  /// The number accepted on this connection.
  private(set) var acceptedCount = 0

  init(connection: Int, services: HTTP2Services) {
    self.connection = connection
    ledger = services.ledger
    keepsRecentPushes = ledger.recentPushes != nil
    batch = RecordBatch(ledger, services.records)
  }

  func beginBatch() { batch.begin(connection) }

  func endBatch() { batch.end(connection) }

  func receive(_ byteCount: Int) { batch.tally.bytes += byteCount }
  func shutDown() { batch.tally.shutdowns += 1 }
  /// Streams dropped before their requests were complete.
  func discard(_ count: Int) { batch.tally.discarded += count }

  /// `key` is the provider token's signing key.
  func accept(_ push: Push, key: String?) {
    acceptedCount += 1
    if push.isChannelRequest { return }
    batch.tally.accepted += 1
    if push.request.broadcastApp != nil {
      batch.tally.broadcasts += 1
      batch.tally.deliveries += push.devices
    }
    batch.accepted?.append(push, topic: push.topic, key: key)
    guard ledger.watchesDuplicates else { return keep(push, .accepted, key: key) }
    let isDuplicate = push.addressee.withUnsafeBytes { token in
      push.request.payload.withUnsafeReadableBytes { payload in
        ledger.isDuplicate(token, payload, identifier: push.request.identifier)
      }
    }
    if isDuplicate { batch.tally.duplicates += 1 }
    record(push, .accepted, key: key, isDuplicate: isDuplicate)
  }

  func refuse(_ push: Push, _ reason: PushReason, key: String?) {
    if push.isChannelRequest { return }
    batch.tally.reasons[reason.word, default: 0] += 1
    batch.ledgerLines?.append(push, topic: push.namedTopic, key: key, .refused(reason))
    keep(push, .refused(reason), key: key)
  }

  func ignore(_ push: Push, key: String?) {
    if push.isChannelRequest { return }
    batch.tally.ignored += 1
    record(push, .ignored, key: key)
  }

  /// It was not validated, so no signing key is recorded with it.
  func discard(_ push: Push, key: String?) {
    if push.isChannelRequest { return }
    batch.tally.discarded += 1
    batch.ledgerLines?.append(push, topic: push.topic, key: nil, .discarded)
    keep(push, .discarded, key: key)
  }

  private func record(
    _ push: Push, _ outcome: LedgerOutcome, key: String?, isDuplicate: Bool = false
  ) {
    batch.ledgerLines?.append(push, topic: push.topic, key: key, outcome, isDuplicate: isDuplicate)
    keep(push, outcome, key: key, isDuplicate: isDuplicate)
  }

  private func keep(_ push: Push, _ outcome: LedgerOutcome, key: String?, isDuplicate: Bool = false)
  {
    if !keepsRecentPushes { return }
    let payload = Array(push.request.payload.readableBytesView)
    let headers = (push.request.headers ?? [:]).map { name, value, _ in
      RecentPush.Header(
        name: name, value: name == "authorization" ? Self.withoutSecret(value, key: key) : value)
    }
    var recent = RecentPush(
      time: WallClock.milliseconds, connection: connection,
      form: .http2(stream: Int(push.id), identifier: push.identifier, headers: headers),
      topic: push.topic ?? push.namedTopic, token: push.token, bytes: payload,
      payload: payload.indices, isDuplicate: isDuplicate)
    recent.isCut = push.request.payloadCount > payload.count
    recent.uniqueIdentifier = push.uniqueIdentifier
    if push.request.broadcastApp != nil {
      recent.broadcast = RecentPush.Broadcast(
        channel: push.request.channel ?? "", devices: push.devices)
    }
    recent.take(outcome)
    batch.recentPushes.append(recent)
  }

  private static func withoutSecret(_ authorization: String, key: String?) -> String {
    let signer = key.map { ", key \($0)" } ?? ""
    return "\(authorization.prefix(7))… (\(authorization.utf8.count) bytes\(signer))"
  }
}
