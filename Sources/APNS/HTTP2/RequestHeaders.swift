import CSystem

/// Header fields that all requests of a session have in common.
struct CommonHeaders {
  var authority: UnsafeRawBufferPointer
  /// The field `authorization`, see `RequestHeaders.authorization`; empty with a certificate.
  var authorization = UnsafeRawBufferPointer(start: nil, count: 0)
}

/// Fields in the bytes in which they were written last: indexes only, so that they are few.
private struct SharedFields {
  var bytes: UInt32 = 0
  var length = 0
  /// Nil until the first are written.
  var authority: UnsafeRawPointer?
  var type = PushType.alert
  var priority: UInt8 = 0
  /// One more than the number of the topic's entry; 0 without a topic.
  var topic = 0
  /// How many entries the table had had.
  var number = 0
}

/// Writes the header fields of one connection's requests (Apple: Sending notification requests to
/// APNs, Sending broadcast push notification requests to APNs) in HPACK (RFC 7541). nghttp2's
/// encoder would search for each name and value, and encode the device token's hex digits one by
/// one. The writing functions are `mutating`, because otherwise they would get a copy of the whole
/// struct.
struct RequestHeaders {
  /// More than the fields of one request can take.
  static var maximum: Int { 2560 }
  static var size: Int { HuffmanCode.size &+ FieldTable.size }

  private let code: HuffmanCode
  private var table: FieldTable
  private var shared = SharedFields()

  /// `memory` is lent by the caller and has `size` bytes.
  init(_ memory: UnsafeMutableRawPointer) {
    code = HuffmanCode(memory)
    table = FieldTable(memory + HuffmanCode.size)
  }

  /// From now on the peer's table holds at most `size` bytes.
  mutating func limitTable(to size: Int) {
    table.limit(to: size)
    shared = SharedFields()
  }

  /// Writes the fields to `target`, which has room for `maximum` bytes, and returns where they
  /// end. Nil if they do not fit.
  mutating func write(
    _ request: StoredRequest, id: InlineArray<16, UInt8>, of authority: CommonHeaders,
    to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer? {
    let texts =
      authority.authority.count &+ authority.authorization.count &+ request.topic.count
      &+ request.token.count &* 2 &+ request.collapse.count
    // All other fields fit into the remaining 512 bytes.
    guard texts <= Self.maximum &- 512 else { return nil }
    var next = target
    if table.isReduced { next = Self.number(table.reportLimit(), 0x20, 5, next) }
    if case .management(let operation) = request.purpose {
      return ask(operation, request, of: authority, next)
    }
    // :method POST, :scheme https and the name :path are in the static table (RFC 7541,
    // appendix A).
    next.storeBytes(of: UInt32(0x04_87_83).littleEndian, as: UInt32.self)
    if request.purpose == .channel {
      next = broadcast(request, of: authority, next + 3)
      next = kind(of: request, next)
    } else {
      next = path(request.token, next + 3)
      next = putShared(request, of: authority.authority, next)
      next = Self.authorization(of: authority, next)
    }
    next = put(.expiration, request.expiry, next)
    next = put(.collapseID, request.collapse, next)
    if UUIDText.isZero(id) { return next }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: UUIDText.count) {
      guard let text = $0.baseAddress else { return next }
      UUIDText.write(id, to: text)
      return put(request.purpose == .channel ? .requestID : .id, UnsafeRawBufferPointer($0), next)
    }
  }

  /// The fields that most notifications share with the one before. They are copied, as long as the
  /// table is the same.
  @inline(__always)
  private mutating func putShared(
    _ request: StoredRequest, of authority: UnsafeRawBufferPointer,
    _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    guard shared.number == table.count, shared.authority == authority.baseAddress,
      shared.type == request.type, shared.priority == request.priority,
      shared.topic == 0
        ? request.topic.count == 0 : table.holds(shared.topic &- 1, .topic, request.topic)
    else { return writeShared(request, of: authority, target) }
    target.storeBytes(of: shared.bytes, as: UInt32.self)
    return target + shared.length
  }

  @inline(never)
  private mutating func writeShared(
    _ request: StoredRequest, of authority: UnsafeRawBufferPointer,
    _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let before = table.count
    var next = put(.authority, authority, target)
    next = put(.topic, request.topic, next)
    next = kind(of: request, next)
    if next - target <= 4, table.count == before {
      shared = SharedFields(
        bytes: target.loadUnaligned(as: UInt32.self), length: next - target,
        authority: authority.baseAddress, type: request.type, priority: request.priority,
        topic: request.topic.count == 0 ? 0 : table.newest(.topic), number: before)
    }
    return next
  }

  private mutating func kind(
    of request: StoredRequest, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let next = put(.pushType, request.type.text, target)
    switch request.priority {
    case 10: return put(.priority, UnsafeRawBufferPointer("10"), next)
    case 5: return put(.priority, UnsafeRawBufferPointer("5"), next)
    case 1: return put(.priority, UnsafeRawBufferPointer("1"), next)
    default: return next
    }
  }

  @inline(__always)
  private mutating func common(
    _ headers: CommonHeaders, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    Self.authorization(of: headers, put(.authority, headers.authority, target))
  }

  @inline(__always)
  private static func authorization(
    of headers: CommonHeaders, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    guard let field = headers.authorization.baseAddress else { return target }
    memcpy(target, field, headers.authorization.count)
    return target + headers.authorization.count
  }

  /// Writes the field `authorization` to `target`, which has room for 16 bytes more than the value, and
  /// returns its size. Its code takes longer than all other fields, and is the same for all requests.
  mutating func authorization(
    _ value: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) -> Int {
    // Marked so that no intermediary may ever index it.
    string(value, Self.number(23, 0x10, 4, target)) - target
  }

  /// The fields of a broadcast instead of those that name a device and its app.
  @inline(never)
  private mutating func broadcast(
    _ request: StoredRequest, of headers: CommonHeaders, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let next = path("/4/broadcasts/apps/", request.topic, "", target)
    return put(.channelID, request.token, common(headers, next))
  }

  /// The fields of a channel management request (Apple: Sending channel management requests to
  /// APNs).
  @inline(never)
  private mutating func ask(
    _ operation: ChannelOperation, _ request: StoredRequest, of headers: CommonHeaders,
    _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var next = target
    switch operation {
    case .create: next = Self.number(3, 0x80, 7, next)
    case .describe, .list: next = Self.number(2, 0x80, 7, next)
    // A literal with the name of :method.
    case .delete: next = string(UnsafeRawBufferPointer("DELETE"), Self.number(2, 0, 4, next))
    }
    // :scheme https, and the name :path.
    next.storeBytes(of: UInt16(0x04_87).littleEndian, as: UInt16.self)
    next = path(
      "/1/apps/", request.topic, operation == .list ? "/all-channels" : "/channels", next + 2)
    next = common(headers, next)
    if operation == .create {
      // The name content-type.
      next = string(UnsafeRawBufferPointer("application/json"), Self.number(31, 0, 4, next))
    }
    return put(.channelID, request.token, next)
  }

  /// Writes a path around the bundle id of an app.
  @inline(never)
  private mutating func path(
    _ start: StaticString, _ app: UnsafeRawBufferPointer, _ end: StaticString,
    _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let (before, behind) = (start.utf8CodeUnitCount, end.utf8CodeUnitCount)
    let count = min(app.count, HTTP2Request.topicMax)
    return withUnsafeTemporaryAllocation(
      byteCount: before &+ HTTP2Request.topicMax &+ behind, alignment: 1
    ) {
      if let path = $0.baseAddress, let app = app.baseAddress {
        memcpy(path, start.utf8Start, before)
        memcpy(path + before, app, count)
        memcpy(path + before + count, end.utf8Start, behind)
      }
      return string(UnsafeRawBufferPointer(rebasing: $0[0..<(before &+ count &+ behind)]), target)
    }
  }

  /// Writes the path in Huffman code, which has a code for each of its characters and is
  /// always shorter.
  @inline(__always)
  private mutating func path(
    _ token: UnsafeRawBufferPointer, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let end = code.write(pathOf: token, to: target + 1)
    return Self.coded(end - target - 1, target)
  }

  /// Writes the length of a Huffman-coded text that begins one byte after `target`, and
  /// returns where the text ends.
  @inline(__always)
  private static func coded(
    _ count: Int, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    if count < 0x7F {
      target.storeBytes(of: 0x80 | UInt8(truncatingIfNeeded: count), as: UInt8.self)
      return target + 1 + count
    }
    // The length takes more than one byte, so the text moves back to make room.
    let more = count < 0x7F + 0x80 ? 1 : 2
    memmove(target + 1 + more, target + 1, count)
    return number(count, 0x80, 7, target) + count
  }

  /// Writes an indexed field if the table has it, and a literal field otherwise (RFC 7541, 6).
  @inline(__always)
  private mutating func put(
    _ field: TableField, _ value: UnsafeRawBufferPointer, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    value.count == 0 ? target : putValue(field, value, target)
  }

  @inline(never)
  private mutating func putValue(
    _ field: TableField, _ value: UnsafeRawBufferPointer, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    guard let index = table.find(field, value) else { return putNew(field, value, target) }
    target.storeBytes(of: 0x80 | UInt8(truncatingIfNeeded: index), as: UInt8.self)
    return target + 1
  }

  @inline(never)
  private mutating func putNew(
    _ field: TableField, _ value: UnsafeRawBufferPointer, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    // The static table has only the name `:authority`.
    let known = field == .authority ? 1 : table.findName(field)
    var isKept = table.isWorth(field, value)
    if known == nil { isKept = true } else if field.isUnique { isKept = false }
    isKept = isKept && table.insert(field, value)
    var next = Self.number(known ?? 0, isKept ? 0x40 : 0, isKept ? 6 : 4, target)
    if known == nil { next = string(field.name, next) }
    return string(value, next)
  }

  /// Writes a text plainly or in Huffman code, the shorter of both.
  @inline(never)
  private mutating func string(
    _ text: UnsafeRawBufferPointer, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    if let size = code.size(of: text), size < text.count {
      return Self.coded(code.write(text, to: target + 1) - target - 1, target)
    }
    let next = Self.number(text.count, 0, 7, target)
    if let base = text.baseAddress { memcpy(next, base, text.count) }
    return next + text.count
  }

  /// Writes a number in the lowest bits of a byte and, if it does not fit, in the bytes
  /// that follow (RFC 7541, 5.1).
  @inline(never)
  private static func number(
    _ number: Int, _ first: UInt8, _ bits: Int, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let maximum = 1 &<< bits &- 1
    target.storeBytes(
      of: first | UInt8(truncatingIfNeeded: min(number, maximum)), as: UInt8.self)
    if number < maximum { return target + 1 }
    var next = target + 1
    var left = number &- maximum
    while left >= 0x80 {
      next.storeBytes(of: UInt8(truncatingIfNeeded: left) | 0x80, as: UInt8.self)
      next += 1
      left &>>= 7
    }
    next.storeBytes(of: UInt8(truncatingIfNeeded: left), as: UInt8.self)
    return next + 1
  }
}
