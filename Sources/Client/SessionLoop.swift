import CAPNS

/// A session in an event loop, made with `neverWaits`.
extension PushSession {
  /// Readable if `process` has something to do.
  package var descriptor: CInt { apns_session_fd(handle) }

  /// Any thread may call it.
  package func wake() { _ = apns_session_wake(handle) }

  /// The session calls back for tokens of all credentials that it used, as long as it exists.
  package func use(_ credentials: OpaquePointer) throws(LibraryError) {
    try calling { apns_session_use_credentials(handle, credentials, $0) }
  }

  /// Sets the maximum number of connections, draining ones included.
  package func limitConnections(to most: Int) {
    _ = apns_session_limit_connections(handle, UInt32(clamping: most), nil)
  }

  package var counts: apns_session_metrics_t {
    var metrics = apns_session_metrics_t()
    metrics.size = MemoryLayout<apns_session_metrics_t>.size
    _ = apns_session_metrics(handle, &metrics, nil)
    return metrics
  }

  /// Opens a connection as far as possible. Returns a new error, if any.
  package func open() -> LibraryError? {
    let error = libraryError { apns_session_connect(handle, $0) }
    return error?.status == APNS_ERR_AGAIN ? nil : error
  }

  /// Writes, reads and reconnects as far as possible. Returns a new error, if any.
  package func process() -> LibraryError? {
    let flushed = libraryError { apns_session_flush(handle, $0) }
    let error = libraryError { apns_session_process(handle, $0) } ?? flushed
    guard let error, error.status != APNS_ERR_AGAIN, error.status != APNS_DONE else { return nil }
    // The program for provider tokens is running, for a limited time.
    if error.status == APNS_ERR_TIMEOUT, error.cause == APNS_CAUSE_PROVIDER_TOKEN { return nil }
    return error
  }

  /// Takes the next event that has arrived; false without one.
  package func take(_ event: UnsafeMutablePointer<apns_event_t>) -> Bool {
    apns_session_next_event(handle, event, 0, nil) == APNS_OK
  }

  /// Writes no more notifications. Those not written end as cancelled.
  package func cancelAll() { _ = apns_session_cancel(handle, 0, nil, nil) }

  /// Begins to close; true once it is closed. Notifications without a response end as unknown.
  package func hasClosed(within milliseconds: Int32) -> Bool {
    libraryError { apns_session_close(handle, milliseconds, $0) }?.status != APNS_ERR_AGAIN
  }
}
