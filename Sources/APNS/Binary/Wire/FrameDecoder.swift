/// The limits of a gateway.
package struct FrameLimits {
  package var token: ClosedRange<Int>
  /// The largest payload of commands 0 and 1: 256 bytes in Apple's listings, 2,048 since 2014.
  package var legacyPayload: Int
  /// The largest payload of command 2.
  package var framedPayload: Int

  package init(
    token: ClosedRange<Int> = 1...100, legacyPayload: Int = 2048, framedPayload: Int = 2048
  ) {
    self.token = token
    self.legacyPayload = legacyPayload
    self.framedPayload = framedPayload
  }
}

/// A frame found at the start of a run of bytes.
package struct Frame {
  package var command: Command
  /// The notification's bytes belong to the run.
  package var notification: WireNotification
  /// The frame's length in bytes.
  package var length: Int
}

/// Decodes frames from a stream. It keeps no state: pass all bytes that are not decoded yet.
package enum FrameDecoder {
  /// The greatest length that five items can have. A longer frame is noise.
  static let maxItems = 5 * (3 + 0xFFFF)

  /// The frame at the start of `bytes`; nil if it is not complete yet.
  package static func decode(
    _ bytes: UnsafeRawBufferPointer, limits: FrameLimits = FrameLimits()
  ) throws(WireError) -> Frame? {
    var cursor = ByteCursor(bytes)
    guard let first = cursor.readUInt8() else { return nil }
    guard let command = Command(rawValue: first) else { throw WireError(.unknownCommand, at: 0) }
    switch command {
    case .simple, .enhanced: return try decodeLegacy(command, cursor, limits)
    case .framed: return try decodeFramed(cursor, limits)
    }
  }

  private static func decodeLegacy(
    _ command: Command, _ start: ByteCursor, _ limits: FrameLimits
  ) throws(WireError) -> Frame? {
    var cursor = start
    var identifier: UInt32?
    var expiry: UInt32?
    if command == .enhanced {
      guard let first = cursor.readUInt32(), let second = cursor.readUInt32() else { return nil }
      (identifier, expiry) = (first, second)
    }
    // A fault is reported from the length field on, because the rest may never arrive.
    guard let tokenLength = cursor.readUInt16() else { return nil }
    if tokenLength == 0 {
      throw WireError(.missingToken, at: cursor.offset &- 2, identifier: identifier)
    }
    if !limits.token.contains(Int(tokenLength)) {
      throw WireError(.tokenSize, at: cursor.offset &- 2, identifier: identifier)
    }
    guard let token = cursor.readBytes(Int(tokenLength)), let payloadLength = cursor.readUInt16()
    else { return nil }
    if payloadLength == 0 {
      throw WireError(.missingPayload, at: cursor.offset &- 2, identifier: identifier)
    }
    if Int(payloadLength) > limits.legacyPayload {
      throw WireError(.payloadSize, at: cursor.offset &- 2, identifier: identifier)
    }
    guard let payload = cursor.readBytes(Int(payloadLength)) else { return nil }
    return Frame(
      command: command,
      notification: WireNotification(
        token: token, payload: payload, identifier: identifier, expiry: expiry),
      length: cursor.offset)
  }

  private static func decodeFramed(
    _ start: ByteCursor, _ limits: FrameLimits
  ) throws(WireError) -> Frame? {
    var cursor = start
    guard let itemsLength = cursor.readUInt32() else { return nil }
    guard itemsLength <= maxItems else { throw WireError(.frameTooLong, at: 1) }
    // The items are checked only when complete, because the identifier may come after the fault.
    guard let items = cursor.readBytes(Int(itemsLength)) else { return nil }
    let base = 5
    var item = ByteCursor(items)
    var token: (bytes: UnsafeRawBufferPointer, offset: Int)?
    var payload: (bytes: UnsafeRawBufferPointer, offset: Int)?
    var identifier: UInt32?
    var expiry: UInt32?
    var priority: (value: UInt8, offset: Int)?
    var fault: WireError?

    while item.remaining > 0 {
      let offset = base &+ item.offset
      let kind = item.readUInt8()
      guard let kind, let length = item.readUInt16(), let data = item.readBytes(Int(length))
      else {
        fault = fault ?? WireError(.itemCut, at: offset)
        break
      }
      var content = ByteCursor(data)
      switch FrameItem(rawValue: kind) {
      case .token:
        if token != nil { fault = fault ?? WireError(.duplicateItem, at: offset) }
        token = (data, offset)
      case .payload:
        if payload != nil { fault = fault ?? WireError(.duplicateItem, at: offset) }
        payload = (data, offset)
      case .identifier:
        if identifier != nil {
          fault = fault ?? WireError(.duplicateItem, at: offset)
        } else if data.count != 4 {
          fault = fault ?? WireError(.itemSize, at: offset &+ 1)
        } else {
          identifier = content.readUInt32()
        }
      case .expiry:
        if expiry != nil {
          fault = fault ?? WireError(.duplicateItem, at: offset)
        } else if data.count != 4 {
          fault = fault ?? WireError(.itemSize, at: offset &+ 1)
        } else {
          expiry = content.readUInt32()
        }
      case .priority:
        if priority != nil {
          fault = fault ?? WireError(.duplicateItem, at: offset)
        } else if data.count != 1 {
          fault = fault ?? WireError(.itemSize, at: offset &+ 1)
        } else {
          priority = content.readUInt8().map { ($0, offset &+ 3) }
        }
      case nil:
        fault = fault ?? WireError(.unknownItem, at: offset)
      }
    }

    if fault == nil { fault = check(token, payload, priority, limits, end: cursor.offset) }
    if var fault {
      fault.identifier = identifier
      throw fault
    }
    guard let token, let payload else { return nil }
    return Frame(
      command: .framed,
      notification: WireNotification(
        token: token.bytes, payload: payload.bytes, identifier: identifier, expiry: expiry,
        priority: priority?.value),
      length: cursor.offset)
  }

  private static func check(
    _ token: (bytes: UnsafeRawBufferPointer, offset: Int)?,
    _ payload: (bytes: UnsafeRawBufferPointer, offset: Int)?,
    _ priority: (value: UInt8, offset: Int)?, _ limits: FrameLimits, end: Int
  ) -> WireError? {
    guard let token else { return WireError(.missingToken, at: end) }
    if token.bytes.count == 0 { return WireError(.missingToken, at: token.offset &+ 1) }
    if !limits.token.contains(token.bytes.count) {
      return WireError(.tokenSize, at: token.offset &+ 1)
    }
    guard let payload else { return WireError(.missingPayload, at: end) }
    if payload.bytes.count == 0 { return WireError(.missingPayload, at: payload.offset &+ 1) }
    if payload.bytes.count > limits.framedPayload {
      return WireError(.payloadSize, at: payload.offset &+ 1)
    }
    if let priority, priority.value != 10, priority.value != 5 {
      return WireError(.priority, at: priority.offset)
    }
    return nil
  }
}
