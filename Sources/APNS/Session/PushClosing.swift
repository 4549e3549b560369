#if APNS_HTTP2
  /// The gentle end of a session over HTTP/2.
  extension PushSession where Net: ~Copyable {
    /// Sends what the open connections take, and hears the answers to it; what has none by
    /// the deadline ends as unknown.
    mutating func close(by deadline: Int64) {
      guard !isClosed else { return }
      for number in 0..<laneCount where lanes[number].use == .opening { close(lanes + number) }
      if hasConnection {
        try? pursue(.lastAnswers, by: deadline)
      }
      for number in 0..<laneCount where lanes[number].use == .open {
        lanes[number].http.pointee.sayGoodbye()
        _ = try? writeRecords(lanes + number)
        if lanes[number].use == .open { network.sayGoodbye(lanes[number].number) }
        close(lanes + number)
      }
      outbox.pointee.abandon()
      isClosed = true
    }
  }
#endif
