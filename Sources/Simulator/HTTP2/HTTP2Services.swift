import BinaryServer

/// What all HTTP/2 connections share.
struct HTTP2Services: Sendable {
  var rules: PushRules
  var ledger: Ledger
  var records: RecordFiles
  var feedback: FeedbackList
  var unregistered: UnregisteredDevices
  var tokens: ProviderTokens
  var broadcasts: Broadcasts
  /// It is the management of channels, which takes no pushes.
  var takesOrders = false
  /// Answers carry `apns-unique-id`, as the sandbox's do.
  var isSandbox = true
}
