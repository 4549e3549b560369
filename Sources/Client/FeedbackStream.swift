import CAPNS

/// Reads gone devices from the feedback service.
package final class FeedbackStream {
  private let handle: OpaquePointer

  /// How long the service may stay silent; 0 is the library's default.
  package init(_ peer: Peer, credentials: ProviderCredentials, readTimeoutMS: UInt32 = 0)
    throws(LibraryError)
  {
    let strings = LentStrings()
    var options = apns_feedback_options_t()
    options.size = MemoryLayout<apns_feedback_options_t>.size
    options.peer = peer.lent(strings)
    options.environment = peer.environment
    options.read_timeout_ms = readTimeoutMS
    var handle: OpaquePointer?
    try withExtendedLifetime(strings) { () throws(LibraryError) in
      try calling { apns_feedback_open(&options, credentials.handle, &handle, $0) }
    }
    self.handle = handle!
  }

  deinit { apns_feedback_free(handle) }

  /// nil when the list has ended.
  package func next() throws(LibraryError) -> GoneDevice? {
    var tuple = apns_feedback_tuple_t()
    tuple.size = MemoryLayout<apns_feedback_tuple_t>.size
    do throws(LibraryError) {
      try calling { apns_feedback_next(handle, &tuple, $0) }
    } catch {
      if error.status == APNS_DONE { return nil }
      throw error
    }
    return GoneDevice(
      token: Array(UnsafeBufferPointer(start: tuple.token, count: tuple.token_length)),
      since: Int64(tuple.timestamp))
  }
}

/// A device, and the UNIX second at which it was found gone.
package struct GoneDevice {
  package var token: [UInt8]
  package var since: Int64

  package init(token: [UInt8], since: Int64) {
    self.token = token
    self.since = since
  }
}
