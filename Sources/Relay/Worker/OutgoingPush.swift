import Client
import CAPNS
import Glibc

/// A push in the library's format. The fields that an entry's devices share are written once per
/// entry, into unmanaged memory, because Swift's checks would cost more than the writing.
final class OutgoingPush {
  private let notification = UnsafeMutablePointer<apns_notification_t>.allocate(capacity: 1)
  private let token = UnsafeMutablePointer<UInt8>.allocate(capacity: DeviceToken.maxLength)
  private let error = UnsafeMutablePointer<apns_error_t>.allocate(capacity: 1)
  /// The notification's strings, each with a final NUL.
  private var texts = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
  private var capacity = 256
  private var used = 0
  /// The entry of the current push. Retained, so that no other entry gets its address.
  private var entry: HeldEntry?
  private var isReplacing = false
  /// The error in its strings.
  private var fault: String?

  init() {
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

  /// Makes this a push of the entry. Returns the error if it cannot be one.
  @inline(__always)
  func address(_ held: HeldEntry, replacing: Bool) -> String? {
    held === entry && replacing == isReplacing ? nil : write(held, replacing)
  }

  private func write(_ held: HeldEntry, _ replacing: Bool) -> String? {
    (entry, fault) = (nil, nil)
    guard let type = held.pushType else {
      return "there is no push type '\(held.entry.content.pushType ?? "")'"
    }
    let (priority, expiry) = (held.entry.content.priority, held.entry.content.expiry)
    if let priority, !(1...Int(UInt8.max)).contains(priority) {
      return "priority is \(priority), not 1, 5 or 10"
    }
    if let expiry, expiry < 0 { return "expiry is \(expiry), not 0 or UNIX seconds" }
    let (topic, channel) = (held.entry.content.topic, held.entry.content.channel)
    let id = held.entry.content.id
    // A broadcast replaces no other.
    let collapse = held.entry.content.collapseID ?? (replacing && channel == nil ? id : nil)
    let identifier = held.hasUUID ? id : nil
    makeRoom(
      Self.size(of: topic) + Self.size(of: collapse) + Self.size(of: identifier)
        + Self.size(of: channel))
    var push = apns_notification_t()
    push.size = MemoryLayout<apns_notification_t>.size
    push.expiry = expiry.map { $0 == 0 ? Int64(APNS_EXPIRY_ONCE) : $0 } ?? 0
    push.priority = UInt8(clamping: priority ?? 0)
    push.push_type = type
    push.topic = add(topic, "topic")
    push.collapse_id = add(collapse, held.entry.content.collapseID == nil ? "id" : "collapse_id")
    push.apns_id = add(identifier, "id")
    push.channel_id = add(channel, "channel")
    if let fault { return fault }
    if channel == nil { push.token = UnsafeRawPointer(token) }
    notification.pointee = push
    (entry, isReplacing) = (held, replacing)
    return nil
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

  /// Passes it to a session, for a device or for the channel. `failure` then describes this call.
  @inline(__always)
  func send(
    to session: OpaquePointer, token text: UnsafeRawBufferPointer,
    payload: UnsafeRawBufferPointer, number: Int
  ) -> apns_status_t {
    if notification.pointee.token != nil {
      let status = apns_token_from_hex(
        text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, token,
        DeviceToken.maxLength, &notification.pointee.token_length, error)
      guard status == APNS_OK else { return status }
    }
    notification.pointee.payload = payload.baseAddress
    notification.pointee.payload_length = payload.count
    notification.pointee.user_data = UnsafeMutableRawPointer(bitPattern: number)
    return apns_session_send(session, notification, APNS_SEND_MORE, nil, error)
  }

  func failure(_ status: apns_status_t) -> LibraryError { LibraryError(status, error.pointee) }
}
