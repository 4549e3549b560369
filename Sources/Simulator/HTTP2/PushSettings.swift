import NIOHTTP2

/// The limits in a connection's SETTINGS.
struct PushSettings: Equatable {
  /// The limits of Apple's gateway.
  private static let streamsMax = 1000
  static let window = 65535
  private static let headersMax = 8000

  var streams: Int
  var window: Int

  /// `isRejected`: the last response was a rejection.
  init(_ faults: Faults, isAuthorized: Bool, isRejected: Bool = false) {
    let most = min(faults.streamsMax ?? Self.streamsMax, Int(UInt32.max))
    let limit = isRejected ? min(most, faults.rejectedStreams ?? most) : most
    streams = isAuthorized ? limit : min(limit, 1)
    window = min(faults.windowSize ?? Self.window, Int(Int32.max))
  }

  /// NIO's settings: with a limit NIO would close the connection for one stream too many.
  static let ours: HTTP2Settings = [
    HTTP2Setting(parameter: .maxConcurrentStreams, value: StreamsLimit.none)
  ]

  /// The first SETTINGS without the stream limit.
  var initial: HTTP2Settings {
    changes(from: nil) + [HTTP2Setting(parameter: .maxHeaderListSize, value: Self.headersMax)]
  }

  /// The settings that differ from `old`, without the stream limit.
  func changes(from old: PushSettings?) -> HTTP2Settings {
    window == old?.window
      ? [] : [HTTP2Setting(parameter: .initialWindowSize, value: window)]
  }
}
