import BinaryServer

/// State that all HTTP/2 connections share.
struct HTTP2Services: Sendable {
  var rules: PushRules
  var ledger: Ledger
  var records: RecordFiles
  var feedback: FeedbackList
  var unregistered: RejectedDevices
  var rejections: RejectedDevices
  var tokens: ProviderTokens
  var broadcasts: Broadcasts
  /// A recording that decides the outcomes of valid pushes.
  var replay: Replay?
  /// The port is for channel management and accepts no pushes.
  var managesChannels = false
  /// Responses have `apns-unique-id`, as in the sandbox.
  var isSandbox = true
}
