/// What all HTTP/2 connections share.
struct PushServices: Sendable {
  var rules: PushRules
  var ledger: Ledger
  var records: BinaryHandler.Records
  var feedback: FeedbackList
  var gone: GoneDevices
  var tokens: ProviderTokens
}
