import CAPNS

/// A notification's request and response, as its stream carries them.
extension Outbox {
  // MARK: Sending

  /// That many bytes of the payload are in the connection's record of that number, or in earlier
  /// ones.
  @inline(__always)
  mutating func sent(_ slot: Int, through count: Int, in record: UInt16) {
    entries[slot].sent = UInt16(truncatingIfNeeded: count)
    entries[slot].record = record
  }

  /// All of the request was written before the record of that number.
  @inline(__always)
  private mutating func isWritten(_ slot: Int, at record: UInt16) -> Bool {
    request(slot).payload.count == 0 || unsent(slot) == 0 && entries[slot].record &- record > 1
  }

  // MARK: Receiving

  /// Reads a header field. False if the response is malformed (RFC 9113, 8.1.1 and 8.3). nghttp2
  /// would also check the bytes of unused fields, which do not matter here.
  @inline(__always)
  mutating func receive(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ slot: Int
  ) -> Bool {
    let entry = entries + slot
    let hasResponse = entry.pointee.status != 0
    if Self.isText(name, ":status") {
      // There is exactly one, before all other fields, and none after the body.
      guard !hasResponse, let status = Self.status(value) else { return false }
      entry.pointee.status = status
      return true
    }
    // Fields of a 1xx do not belong to the response, which is still to come.
    if hasResponse, entry.pointee.status < 200 { return name.first != UInt8(ascii: ":") }
    if Self.isText(name, "apns-id"), hasResponse {
      if isTold(entry) { entry.pointee.hear(id: value) }
      return true
    }
    if name.count == 14, hasResponse {
      if name.equals("content-length") {
        guard let length = Self.number(value), entry.pointee.bodyLength == 0 else { return false }
        entry.pointee.bodyLength = length &+ 1
      } else if name.equals("apns-unique-id") {
        if isTold(entry), let id = UUIDText.bytes(value) { entry.pointee.unique = id }
        return true
      }
    }
    if name.count == 15, hasResponse {
      if name.equals("apns-request-id"), request(slot).purpose != .device {
        if isTold(entry) { entry.pointee.hear(id: value) }
      } else if name.equals("apns-channel-id") {
        whole?.pointee.take(channel: value)
      }
      return true
    }
    if name.count == 11, entry.pointee.status > 200, name.equals("retry-after") {
      entry.makeBody()?.pointee.read(retryAfter: value)
    }
    return hasResponse && name.first != UInt8(ascii: ":")
  }

  /// Whether the caller gets a response with that status.
  @inline(__always)
  private mutating func isTold(_ entry: UnsafeMutablePointer<OutboxEntry>) -> Bool {
    entry.pointee.status != 200 || reportsAccepted || isPushed(entry)
  }

  /// All fields of a header block have come. The status, 0 without one. After a 1xx the response
  /// itself is still to come.
  @inline(__always)
  mutating func headersEnded(_ slot: Int) -> UInt16 {
    let status = entries[slot].status
    if status < 200 { entries[slot].status = 0 }
    return status
  }

  /// Whether a body is kept whole for the caller.
  enum WholeBody {
    case none
    case kept
    case tooLong
  }

  @inline(__always)
  mutating func receive(body bytes: UnsafeRawBufferPointer, _ slot: Int) -> WholeBody {
    let entry = entries + slot
    entry.pointee.bodyHeard &+= UInt32(clamping: bytes.count)
    // A 200 has no other body that matters.
    if entry.pointee.status > 200 { entry.makeBody()?.pointee.append(bytes) }
    guard let whole, 200..<300 ~= entry.pointee.status, !entry.pointee.isReset else { return .none }
    whole.pointee.take(body: bytes)
    guard whole.pointee.isSpoilt else { return .kept }
    entry.pointee.isReset = true
    return .tooLong
  }

  /// The response is complete. If it announced another length, it is malformed (RFC 9113, 8.1.1).
  /// `record` is the number of the record that is filled now. True if the rest of the request need
  /// not be sent.
  @inline(__always)
  mutating func responseEnded(_ slot: Int, at record: UInt16) -> Bool {
    let entry = entries + slot
    guard entry.pointee.status >= 200 else { return false }
    entry.pointee.isWhole = true
    let length = entry.pointee.bodyLength
    if length > 0, length &- 1 != entry.pointee.bodyHeard { entry.pointee.isReset = true }
    return !isWritten(slot, at: record) && respondedEarly(slot)
  }

  /// The response came before all of the request was written. A server may refuse an incomplete
  /// request (RFC 9113, 8.1), but not have accepted it.
  @inline(never)
  private mutating func respondedEarly(_ slot: Int) -> Bool {
    if entries[slot].status < 300 { entries[slot].isReset = true }
    return unsent(slot) > 0
  }

  /// The peer reset the stream with an error.
  mutating func streamReset(_ slot: Int) {
    entries[slot].isReset = true
    metrics.pointee.resets &+= 1
  }

  /// The stream is over. `refused`: the peer reports that it has not processed it; `counts` and
  /// `turnsAway`: how that counts against the notification. Returns the status of a whole response.
  @inline(__always)
  mutating func streamEnded(
    _ slot: Int, refused: Bool, counts: Bool, turnsAway: Bool
  ) -> UInt16? {
    let entry = entries + slot
    // A service that has begun to answer has looked at the request.
    entry.pointee.isRefused = refused && entry.pointee.status == 0
    if entry.pointee.isRefused, counts, entry.pointee.refusals < .max {
      entry.pointee.refusals &+= 1
    }
    if entry.pointee.isRefused, turnsAway, !entry.pointee.isReset, entry.pointee.turnedAway < .max {
      entry.pointee.turnedAway &+= 1
    }
    streamEnded(slot)
    return entry.pointee.hasResponse ? entry.pointee.status : nil
  }

  // MARK: Texts

  /// Nil if it is not a number, or larger than any response body.
  private static func number(_ text: UnsafeRawBufferPointer) -> UInt32? {
    guard text.count > 0, text.count <= 9 else { return nil }
    var number: UInt32 = 0
    for byte in text {
      let digit = byte &- 0x30
      guard digit < 10 else { return nil }
      number = number &* 10 &+ UInt32(digit)
    }
    return number
  }

  /// Nil if it is not an HTTP/2 status.
  @inline(__always)
  private static func status(_ text: UnsafeRawBufferPointer) -> UInt16? {
    guard text.count == 3 else { return nil }
    let (first, second, third) = (text[0] &- 0x30, text[1] &- 0x30, text[2] &- 0x30)
    guard first < 10, second < 10, third < 10 else { return nil }
    let status = 100 &* UInt16(first) &+ 10 &* UInt16(second) &+ UInt16(third)
    return status >= 100 && status != 101 ? status : nil
  }

  /// Compares a text of seven bytes as words, because every field is compared with it.
  @inline(__always)
  private static func isText(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
    guard bytes.count == 7, text.utf8CodeUnitCount == 7 else { return false }
    let other = UnsafeRawBufferPointer(text)
    return bytes.loadUnaligned(as: UInt32.self) == other.loadUnaligned(as: UInt32.self)
      && bytes.loadUnaligned(fromByteOffset: 3, as: UInt32.self)
        == other.loadUnaligned(fromByteOffset: 3, as: UInt32.self)
  }
}
