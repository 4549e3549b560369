import CAPNS

/// The service that manages the channels of an app.
package final class ChannelService {
  package struct Options {
    package var peer = Peer()
    package var topic: String?

    package init() {}
  }

  /// The service's response to the last request.
  package struct Answer {
    package var reason = ""
    /// 0 if there was no response.
    package var httpStatus: UInt16 = 0
    package var retryAfter: UInt32 = 0
    package var requestIdentifier = ""
  }

  private let handle: OpaquePointer

  package convenience init(
    _ wanted: Options, credentials: ProviderCredentials
  ) throws(LibraryError) {
    try self.init(wanted, credentials: credentials.handle)
  }

  /// The library's credentials, kept because their callbacks use them.
  package init(_ wanted: Options, credentials: OpaquePointer) throws(LibraryError) {
    let strings = LentStrings()
    var options = apns_channels_options_t()
    options.size = MemoryLayout<apns_channels_options_t>.size
    options.peer = wanted.peer.lent(strings)
    options.environment = wanted.peer.environment
    options.topic = strings.lend(wanted.topic)
    var handle: OpaquePointer?
    try withExtendedLifetime(strings) { () throws(LibraryError) in
      try calling { apns_channels_new(&options, credentials, &handle, $0) }
    }
    self.handle = handle!
  }

  deinit { apns_channels_free(handle) }

  /// The ID of a new channel.
  package func create(_ storage: apns_storage_t) throws(LibraryError) -> String {
    var id = [CChar](repeating: 0, count: Int(APNS_CHANNEL_ID_MAX) + 1)
    try calling { apns_channel_create(handle, storage, &id, id.count, $0) }
    return String(
      decoding: id.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  package func describe(_ id: String) throws(LibraryError) -> (storage: Int32, pushType: Int32) {
    var description = apns_channel_description_t()
    description.size = MemoryLayout<apns_channel_description_t>.size
    try calling { apns_channel_describe(handle, id, &description, $0) }
    return (description.storage, description.push_type)
  }

  package func delete(_ id: String) throws(LibraryError) {
    try calling { apns_channel_delete(handle, id, $0) }
  }

  /// Passes on the IDs of all channels, one by one.
  package func list(_ take: (String) -> Void) throws(LibraryError) {
    try calling { apns_channels_list(handle, $0) }
    var id: UnsafePointer<CChar>?
    while apns_channels_next(handle, &id) == APNS_OK, let id { take(String(cString: id)) }
  }

  package var answer: Answer {
    var response = apns_channels_response_t()
    response.size = MemoryLayout<apns_channels_response_t>.size
    guard (try? calling { apns_channels_response(handle, &response, $0) }) != nil else {
      return Answer()
    }
    return Answer(
      reason: text(of: &response.reason_text), httpStatus: response.http_status,
      retryAfter: response.retry_after_s, requestIdentifier: text(of: &response.request_id))
  }
}
