import NIOHTTP2

/// What a connection is told of how much it may carry.
struct PushSettings: Equatable {
  /// As Apple's were seen to be.
  private static let streamsMax = 1000
  static let window = 65535
  private static let headersMax = 8000

  var streams: Int
  var window: Int

  init(_ faults: Faults, isAuthorized: Bool) {
    let most = min(faults.streamsMax ?? Self.streamsMax, Int(UInt32.max))
    streams = isAuthorized ? most : min(most, 1)
    window = min(faults.windowSize ?? Self.window, Int(Int32.max))
  }

  /// What HTTP/2 here is told before all else: it would end a connection for a stream too many.
  static let ours: HTTP2Settings = [
    HTTP2Setting(parameter: .maxConcurrentStreams, value: StreamsLimit.none)
  ]

  /// Those of the first frame, but for how many streams there may be.
  var initial: HTTP2Settings {
    changes(from: nil) + [HTTP2Setting(parameter: .maxHeaderListSize, value: Self.headersMax)]
  }

  /// Those that are not as they were, but for how many streams there may be.
  func changes(from old: PushSettings?) -> HTTP2Settings {
    window == old?.window
      ? [] : [HTTP2Setting(parameter: .initialWindowSize, value: window)]
  }
}
