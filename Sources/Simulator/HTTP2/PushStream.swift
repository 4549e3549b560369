/// One stream: what has come of its request, and whether it waits for its answer.
struct PushStream {
  var request: ReceivedPush
  /// The whole request has come.
  var isWhole = false
  var credit = WindowCredit()
}
