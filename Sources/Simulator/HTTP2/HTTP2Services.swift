import BinaryServer

/// What all HTTP/2 connections share.
struct HTTP2Services: Sendable {
  var rules: PushRules
  var ledger: Ledger
  var records: RecordFiles
  var feedback: FeedbackList
  var unregistered: UnregisteredDevices
  var tokens: ProviderTokens
}
