import NIOHTTP2

/// The streams of one connection.
struct PushStreams {
  private let replay: Replay?
  /// Those without a response.
  var waiting: [HTTP2StreamID: PushStream] = [:]
  /// How many are open, as the protocol counts them.
  var openCount = 0
  private var lastBegun = HTTP2StreamID.rootStream
  /// Over the limit, and not refused yet.
  private var excess: Set<HTTP2StreamID> = []
  /// The highest with a validated request.
  private(set) var lastValidated = HTTP2StreamID.rootStream

  init(replay: Replay?) { self.replay = replay }

  mutating func receivedHeaders(on id: HTTP2StreamID, limit: Int) {
    guard id > lastBegun else { return }
    lastBegun = id
    if openCount >= limit { excess.insert(id) }
  }

  /// The stream is over the limit.
  mutating func takeExcess(_ id: HTTP2StreamID) -> Bool { excess.remove(id) != nil }

  mutating func validated(_ id: HTTP2StreamID) { lastValidated = max(lastValidated, id) }

  /// Drops the streams that GOAWAY leaves to another connection, and returns their number.
  mutating func dropUnvalidated() -> Int {
    let above = waiting.keys.filter { $0 > lastValidated }
    giveBack(above)
    for id in above { waiting[id] = nil }
    return above.count
  }

  mutating func giveBackAll() { giveBack(waiting.keys) }

  /// The answers that these streams did not get are for the next pushes to their devices.
  private mutating func giveBack(_ ids: some Sequence<HTTP2StreamID>) {
    guard let replay else { return }
    for id in ids {
      if let step = waiting[id]?.step { replay.giveBack(step, waiting[id]?.token ?? []) }
      waiting[id]?.step = nil
    }
  }
}
