#if APNS_HTTP2
  /// A line of the network with the HTTP/2 that is spoken on it.
  struct PushLane {
    let number: Int
    let http: UnsafeMutablePointer<HTTP2Connection>
    var use = LineUse.closed
    var openedAt: Int64 = 0
    var lastLook: Int64 = 0
    /// When it was last heard of, or had nothing to be heard.
    var lastHeard: Int64 = 0
    /// When something was last read from it.
    var lastRead: Int64 = 0
    /// Since when the peer owes the answer to a PING.
    var askedAt: Int64?
    /// When it is next seen to whether some stream waits for its answer too long.
    var nextReview: Int64 = 0
    /// Since when the peer has taken nothing; nil while it takes.
    var stalledSince: Int64?
    /// There may be more to be read, whatever a wait says.
    var isUnread = false
    /// That is so until something was read.
    var mustRead = false

    /// It carries new streams, or will.
    var isTaking: Bool { use != .closed && !http.pointee.isLeaving }
  }
#endif
