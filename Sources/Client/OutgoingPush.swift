import CAPNS
import Glibc

/// The fields that several notifications share.
package struct Delivery {
  package var topic: String?
  package var collapseIdentifier: String?
  package var apnsIdentifier: String?
  /// The channel of a broadcast; nil for devices.
  package var channel: String?
  package var expiry: Int64 = 0
  package var priority: UInt8 = 0
  package var pushType: apns_push_type_t = APNS_PUSH_TYPE_DEFAULT

  package init() {}
}

/// A notification in the library's format. The fields that several share are written once for all of
/// them, into unmanaged memory, because Swift's checks would cost more than the writing.
package final class OutgoingPush {
  private let notification = UnsafeMutablePointer<apns_notification_t>.allocate(capacity: 1)
  private let token = UnsafeMutablePointer<UInt8>.allocate(capacity: DeviceToken.maxLength)
  private let error = UnsafeMutablePointer<apns_error_t>.allocate(capacity: 1)
  /// The notification's strings, each with a final NUL.
  private var texts = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
  private var capacity = 256
  private var used = 0
  /// The error in its strings.
  private var fault: String?

  package init() {
    notification.initialize(to: apns_notification_t())
    error.initialize(to: apns_error_t())
    error.pointee.size = MemoryLayout<apns_error_t>.size
  }

  deinit {
    notification.deallocate()
    token.deallocate()
    error.deallocate()
    texts.deallocate()
  }

  /// Writes the shared fields. Returns the error if one cannot be sent; `collapseName` is the name of
  /// the collapse ID in it.
  package func write(_ fields: Delivery, collapseName: StaticString = "collapse_id") -> String? {
    fault = nil
    makeRoom(
      Self.size(of: fields.topic) + Self.size(of: fields.collapseIdentifier)
        + Self.size(of: fields.apnsIdentifier) + Self.size(of: fields.channel))
    var push = apns_notification_t()
    push.size = MemoryLayout<apns_notification_t>.size
    push.expiry = fields.expiry
    push.priority = fields.priority
    push.push_type = UInt8(fields.pushType.rawValue)
    push.topic = add(fields.topic, "topic")
    push.collapse_id = add(fields.collapseIdentifier, collapseName)
    push.apns_id = add(fields.apnsIdentifier, "id")
    push.channel_id = add(fields.channel, "channel")
    notification.pointee = push
    return fault
  }

  private static func size(of text: String?) -> Int { text.map { $0.utf8.count + 1 } ?? 0 }

  private func makeRoom(_ size: Int) {
    used = 0
    guard size > capacity else { return }
    texts.deallocate()
    texts = .allocate(capacity: size)
    capacity = size
  }

  private func add(_ text: String?, _ name: StaticString) -> UnsafePointer<CChar>? {
    guard var text else { return nil }
    let place = texts + used
    text.withUTF8 { bytes in
      if let start = bytes.baseAddress { memcpy(place, start, bytes.count) }
      // The library would end the string there, and use another topic or ID.
      if let nul = memchr(place, 0, bytes.count) {
        fault = "\(name) cannot have character 0x00 at \(nul - UnsafeMutableRawPointer(place))"
      }
      place[bytes.count] = 0
      used += bytes.count + 1
    }
    return UnsafePointer(place)
  }

  /// Passes it to a session, for the channel or for a device in hex. `failure` then describes this
  /// call.
  package func send(
    to session: PushSession, hex text: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer,
    userData: UnsafeMutableRawPointer?
  ) -> apns_status_t {
    var count = 0
    if notification.pointee.channel_id == nil {
      let status = apns_token_from_hex(
        text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, token,
        DeviceToken.maxLength, &count, error)
      guard status == APNS_OK else { return status }
    }
    return send(
      to: session, token: UnsafeRawBufferPointer(start: token, count: count), payload: payload,
      userData: userData)
  }

  /// The same for a device token's bytes.
  package func send(
    to session: PushSession, token: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer,
    userData: UnsafeMutableRawPointer?
  ) -> apns_status_t {
    if notification.pointee.channel_id == nil {
      notification.pointee.token = token.baseAddress
      notification.pointee.token_length = token.count
    }
    notification.pointee.payload = payload.baseAddress
    notification.pointee.payload_length = payload.count
    notification.pointee.user_data = userData
    return apns_session_send(session.handle, notification, APNS_SEND_MORE, nil, error)
  }

  package func failure(_ status: apns_status_t) -> LibraryError {
    LibraryError(status, error.pointee)
  }
}
