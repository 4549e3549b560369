/// The object of an `apns_feedback_t`: the feedback service's list, or a session's.
struct FeedbackHandle: ~Copyable {
  private var service: Feedback?
  #if APNS_HTTP2
    private var session: GoneFeedback?

    init(of devices: UnsafeMutablePointer<GoneDevices>) {
      service = nil
      session = GoneFeedback(devices)
    }
  #endif

  init(_ service: consuming Feedback) {
    self.service = consume service
    #if APNS_HTTP2
      session = nil
    #endif
  }

  var isForeign: Bool {
    #if APNS_HTTP2
      switch session {
      case .some(let session): return session.isForeign
      case nil: break
      }
    #endif
    switch service {
    case .some(let service): return service.isForeign
    case nil: return false
    }
  }

  mutating func silence() { service?.silence() }

  /// For the application's event loop; -1 if the list needs none.
  var descriptor: CInt {
    switch service {
    case .some(let service): service.descriptor
    case nil: -1
    }
  }

  mutating func connect() throws(Failure) { try service?.connect() }

  mutating func next() throws(Failure) -> FeedbackTuple? {
    #if APNS_HTTP2
      if session != nil { return session?.next() }
    #endif
    return try service?.next()
  }
}
