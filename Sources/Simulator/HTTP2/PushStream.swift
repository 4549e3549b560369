/// One stream: what has come of its request, or that its answer is to come.
struct PushStream {
  var request: ReceivedPush
  /// All of it has come.
  var isWhole = false
  var credit = WindowCredit()
}

/// What answers a push.
struct PushAnswer {
  var identifier: String
  /// nil where it was accepted.
  var reason: PushReason?
  /// UNIX milliseconds, in answers of 410.
  var time: Int64?

  var body: String? {
    guard let reason else { return nil }
    let time = time.map { ",\"timestamp\":\($0)" } ?? ""
    return "{\"reason\":\(JSONLiteral.string(reason.word))\(time)}"
  }
}
