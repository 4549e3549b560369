#if APNS_HTTP2
  /// A line of the network with the HTTP/2 that is spoken on it.
  struct PushLane {
    var line: Line
    let http: UnsafeMutablePointer<HTTP2Connection>
    /// When it was last heard of, or had nothing to be heard.
    var lastHeard: Int64 = 0
    /// When something was last read from it.
    var lastRead: Int64 = 0
    /// Since when the peer owes the answer to a PING.
    var askedAt: Int64?
    /// When it is next seen to whether some stream waits for its answer too long.
    var nextReview: Int64 = 0
    /// There may be more to be read, whatever a wait says.
    var isUnread = false

    var number: Int { line.number }
    var use: LineUse { line.use }
    /// It carries new streams, or will.
    var isTaking: Bool { use != .closed && !http.pointee.isLeaving }
  }
#endif
