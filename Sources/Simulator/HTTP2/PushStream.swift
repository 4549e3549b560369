/// A stream: the part of its request that has arrived, and whether it waits for its response.
struct PushStream {
  var request: ReceivedPush
  /// The request is complete.
  var isWhole = false
  var credit = WindowCredit()
  /// Its answer in a recording, until the response is sent, and its device.
  var step: Replay.Step?
  var token: [UInt8] = []
  /// The push that the recorded connection's end left without a response.
  var lost: Push?
}
