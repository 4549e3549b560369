import CAPNS
import CSystem

// A library built without HTTP/2 makes no channels, so nothing below it is ever called with any.

@_cdecl("apns_channels_new") @implementation
public func apns_channels_new(
  _ options: UnsafePointer<apns_channels_options_t>?, _ credentials: OpaquePointer?,
  _ channels: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let channels else { throw isNull("channels_out") }
    let given = try adopt(options)
    #if APNS_HTTP2
      let made = try place { () throws(Failure) in try ChannelsHandle(given, credentials) }
      channels.pointee = OpaquePointer(made)
    #else
      throw withoutHTTP2
    #endif
  }
}

@_cdecl("apns_channel_create") @implementation
public func apns_channel_create(
  _ channels: OpaquePointer?, _ storage: apns_storage_t, _ target: UnsafeMutablePointer<CChar>?,
  _ capacity: Int, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let own = try ownChannels(channels)
    guard storage == APNS_STORAGE_NONE || storage == APNS_STORAGE_LATEST else {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append("storage is ")
        $0.append(storage.rawValue)
        $0.append(", not an apns_storage_t")
      }
    }
    let needed = Int(APNS_CHANNEL_ID_MAX) &+ 1
    guard let target, capacity >= needed else {
      // The created channel's ID would be lost.
      throw Failure(APNS_ERR_BUFFER_SMALL) {
        $0.append("channel_id_out needs ")
        $0.append(needed)
        $0.append(" bytes")
      }
    }
    #if APNS_HTTP2
      try own.pointee.session.create(
        storesLatest: storage == APNS_STORAGE_LATEST,
        to: UnsafeMutableRawBufferPointer(start: target, count: needed))
    #endif
  }
}

@_cdecl("apns_channel_describe") @implementation
public func apns_channel_describe(
  _ channels: OpaquePointer?, _ channel: UnsafePointer<CChar>?,
  _ description: UnsafeMutablePointer<apns_channel_description_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let own = try ownChannels(channels)
    guard let description else { throw isNull("description_out") }
    _ = try checkedSize(UnsafePointer(description))
    #if APNS_HTTP2
      let said = try own.pointee.session.describe(try channelText(channel))
      var told = apns_channel_description_t()
      told.storage = said.storage
      told.push_type =
        said.isForLiveActivities ? Int32(APNS_PUSH_TYPE_LIVEACTIVITY.rawValue) : 0
      try fill(description, with: told)
    #endif
  }
}

@_cdecl("apns_channel_delete") @implementation
public func apns_channel_delete(
  _ channels: OpaquePointer?, _ channel: UnsafePointer<CChar>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let own = try ownChannels(channels)
    #if APNS_HTTP2
      try own.pointee.session.delete(try channelText(channel))
    #endif
  }
}

@_cdecl("apns_channels_list") @implementation
public func apns_channels_list(
  _ channels: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let own = try ownChannels(channels)
    #if APNS_HTTP2
      try own.pointee.session.listAll()
    #endif
  }
}

@_cdecl("apns_channels_next") @implementation
public func apns_channels_next(
  _ channels: OpaquePointer?, _ channel: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> apns_status_t {
  channel?.pointee = nil
  var isDone = false
  let status = answer(nil) { () throws(Failure) in
    let own = try ownChannels(channels)
    guard let channel else { throw isNull("channel_id_out") }
    #if APNS_HTTP2
      isDone = !own.pointee.next(to: channel)
    #endif
  }
  return isDone ? APNS_DONE : status
}

@_cdecl("apns_channels_response") @implementation
public func apns_channels_response(
  _ channels: OpaquePointer?, _ target: UnsafeMutablePointer<apns_channels_response_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let own = try ownChannels(channels)
    guard let target else { throw isNull("answer_out") }
    #if APNS_HTTP2
      var told = apns_channels_response_t()
      reportResponse(own.pointee.session.last, in: &told)
      try fill(target, with: told)
    #endif
  }
}

@_cdecl("apns_channels_cancel") @implementation
public func apns_channels_cancel(_ channels: OpaquePointer?) {
  #if APNS_HTTP2
    guard let own = try? ownChannels(channels) else { return }
    own.pointee.session.cancel()
  #endif
}

@_cdecl("apns_channels_fd") @implementation
public func apns_channels_fd(_ channels: OpaquePointer?) -> CInt {
  #if APNS_HTTP2
    guard let own = try? ownChannels(channels) else { return -1 }
    return own.pointee.session.descriptor
  #else
    return -1
  #endif
}

@_cdecl("apns_channels_timeout_ms") @implementation
public func apns_channels_timeout_ms(_ channels: OpaquePointer?) -> Int32 {
  #if APNS_HTTP2
    guard let own = try? ownChannels(channels), own.pointee.session.callDue < .max else {
      return -1
    }
    return Deadline(nanoseconds: own.pointee.session.callDue).milliseconds
  #else
    return -1
  #endif
}

@_cdecl("apns_channels_free") @implementation
public func apns_channels_free(_ channels: OpaquePointer?) {
  #if APNS_HTTP2
    guard let channels else { return }
    let own = UnsafeMutablePointer<ChannelsHandle>(channels)
    if own.pointee.isForeign { own.pointee.session.silence() }
    discard(own)
  #endif
}

#if APNS_HTTP2
  /// The channels, if this process made them.
  private func ownChannels(
    _ channels: OpaquePointer?
  ) throws(Failure) -> UnsafeMutablePointer<ChannelsHandle> {
    guard let channels else { throw isNull("channels") }
    let own = UnsafeMutablePointer<ChannelsHandle>(channels)
    if own.pointee.isForeign {
      throw Failure(APNS_ERR_FORKED, "the channels were made by the parent process")
    }
    return own
  }

  private func channelText(
    _ channel: UnsafePointer<CChar>?
  ) throws(Failure) -> UnsafeRawBufferPointer {
    guard let channel else { throw isNull("channel_id") }
    let text = try HTTP2Request.channel(channel)
    if text.count == 0 { throw Failure(APNS_ERR_ARGUMENT, "channel_id is empty") }
    return text
  }
#else
  private var withoutHTTP2: Failure {
    Failure(
      APNS_ERR_ARGUMENT, "channels need HTTP/2, which this library was built without",
      cause: APNS_CAUSE_HTTP2_NOT_BUILT_IN)
  }

  private func ownChannels(_ channels: OpaquePointer?) throws(Failure) -> OpaquePointer {
    if channels == nil { throw isNull("channels") }
    throw withoutHTTP2
  }
#endif
