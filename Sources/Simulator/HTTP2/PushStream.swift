/// A stream: the part of its request that has arrived, and whether it waits for its response.
struct PushStream {
  var request: ReceivedPush
  /// The request is complete.
  var isWhole = false
  var credit = WindowCredit()
}
