import CAPNS
import CNGHTTP2

/// A notification as its request must arrive.
struct Request {
  let token: [UInt8]
  let payload: [UInt8]
}

/// One connection, seen from the server.
private struct ServedLine {
  var isOpen = false
  /// Bytes that the client has not read yet, and how the connection ends after them.
  var inbound: [UInt8] = []
  var isEnding = false
  var isBroken = false
  /// How many bytes the server still reads before it stops.
  var room = Int.max
  var reader = ClientReader()
  var watched: Readiness = []
  var found: Readiness = []
  var delivered = FrameHeads()
}

/// Parses frame headers from a byte stream in pieces.
private struct FrameHeads {
  private var head: [UInt8] = []
  /// The rest of the current frame's payload.
  private var left = 0

  mutating func read(_ bytes: some Collection<UInt8>, _ body: (_ type: UInt8, UInt32) -> Void) {
    for byte in bytes {
      if left > 0 {
        left -= 1
        continue
      }
      head.append(byte)
      guard head.count == 9 else { continue }
      left = head[0..<3].reduce(0) { $0 << 8 | Int($1) }
      body(head[3], head[5..<9].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF)
      head = []
    }
  }
}

/// A server that sends what its script contains: complete frames, valid or not, or any bytes. It
/// reads what the client sends by RFC 9113, which the client must not violate.
final class HostileServer {
  private var script: ArraySlice<UInt8>
  private var lines = [ServedLine](repeating: ServedLine(), count: 4)
  private(set) var clock: Int64 = 1_000_000_000
  /// How many attempts to open a connection will still fail.
  private var refusals = 0
  private var steps = 0
  /// True when the script has ended.
  var isOver = false
  /// The notifications that the session queued, by number; and the numbers of those that arrived.
  var requests: [Request] = []
  private(set) var heard: Set<Int> = []
  /// True if it answered a request before it arrived.
  private(set) var answersUnheard = false

  init(_ script: UnsafeRawBufferPointer) { self.script = ArraySlice(script) }

  // MARK: The script

  var hasMore: Bool { !script.isEmpty }
  func peek() -> UInt8 { script.first ?? 0 }
  func take() -> UInt8 { script.popFirst() ?? 0 }

  /// A step with a time in units of 20 ms.
  func takeTimed() -> Int32 {
    _ = take()
    return Int32(take()) * 20
  }

  private func take(_ count: Int) -> [UInt8] {
    let taken = Array(script.prefix(count))
    script = script.dropFirst(count)
    return taken
  }

  private func takeNumber() -> UInt32 {
    (0..<4).reduce(UInt32(0)) { number, _ in number << 8 | UInt32(take()) }
  }

  /// Plays one step of the server. The high bits of its byte choose the connection, and whether a
  /// stream ends with it.
  func play() {
    let step = take()
    let number = Int(step >> 4 & 3)
    let isLast: UInt8 = step & 0x80 != 0 ? 1 : 0
    switch step & 15 {
    case 4: lines[number].inbound += take(Int(take()))
    case 5:
      let (type, flags, stream) = (take(), take(), takeStream(number))
      frame(number, type, flags, stream, take(Int(take())))
    case 6: frame(number, 1, 4 | isLast, takeStream(number), takeAnswer())
    case 7: frame(number, 0, isLast, takeStream(number), take(Int(take())))
    case 8:
      let identifier = take()
      frame(number, 4, 0, 0, [0, identifier] + bytes(takeNumber()))
    case 9:
      let last = takeStream(number)
      let code = take()
      frame(number, 7, 0, 0, bytes(last) + [0, 0, 0, code] + take(Int(take())))
    case 10: frame(number, 3, 0, takeStream(number), [0, 0, 0, take()])
    case 11: frame(number, 8, 0, takeStream(number), bytes(takeNumber()))
    case 12:
      if isLast == 1 { lines[number].isBroken = true } else { lines[number].isEnding = true }
    case 13: clock += Int64(take()) * 50_000_000
    case 14: lines[number].room = isLast == 1 ? .max : Int(take()) * 16
    default: refusals = Int(step >> 4 & 7)
    }
  }

  /// A stream number, of an open stream or an unused one.
  private func takeStream(_ number: Int) -> UInt32 {
    let choice = Int(take())
    let streams = lines[number].reader.streams
    if choice >= 0xF0 { return UInt32(choice & 15) }
    return streams.isEmpty ? 1 : streams[choice % streams.count]
  }

  /// A header block: a status, and an apns-id for some choices.
  private func takeAnswer() -> [UInt8] {
    let choice = take()
    let statuses: [[UInt8]] = [
      [0x88], [0x8C], [0x8D], [0x8E], literal("410"), literal("403"), literal("413"),
      literal("429"),
      literal("503"), literal("100"), literal("301"), literal("999"), literal("20"), [],
    ]
    var block = statuses[Int(choice & 15) % statuses.count]
    if choice & 0x10 != 0 {
      let id = "EABECA79-58E5-4B14-B0A5-4D8B3C2A7F10"
      block += [0x00, 7] + Array("apns-id".utf8) + [36] + Array(id.utf8)
    }
    if choice & 0x20 != 0 { block += take(Int(take())) }
    return block
  }

  /// A status that is not in the static table.
  private func literal(_ status: StaticString) -> [UInt8] {
    [0x08, UInt8(status.utf8CodeUnitCount)]
      + UnsafeRawBufferPointer(start: status.utf8Start, count: status.utf8CodeUnitCount)
  }

  private func bytes(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
  }

  private func frame(
    _ number: Int, _ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]
  ) {
    lines[number].inbound += bytes(UInt32(payload.count)).dropFirst()
    lines[number].inbound += [type, flags] + bytes(stream) + payload
  }

  // MARK: The session's view

  func now() -> Int64 {
    steps += 1
    require(steps < 2_000_000, "every call returns")
    clock += 1000
    return clock
  }

  func open(_ number: Int) throws(Failure) {
    require(!lines[number].isOpen, "a line has at most one connection")
    if refusals > 0 {
      refusals -= 1
      throw Failure(APNS_ERR_NETWORK, "refused")
    }
    lines[number] = ServedLine()
    lines[number].isOpen = true
  }

  func drop(_ number: Int) { lines[number] = ServedLine() }

  func isReadable(_ number: Int) -> Bool {
    let line = lines[number]
    return line.isOpen && (!line.inbound.isEmpty || line.isEnding || line.isBroken)
  }

  func read(_ number: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    require(lines[number].isOpen, "only an open line is read")
    let count = min(buffer.count, lines[number].inbound.count)
    guard count > 0 else {
      if lines[number].isBroken { return .broken }
      return lines[number].isEnding ? .end : .nothing
    }
    let bytes = lines[number].inbound[..<count]
    let streams = lines[number].reader.streams
    lines[number].delivered.read(bytes) { type, stream in
      if type == 1 || type == 9, !streams.contains(stream) { answersUnheard = true }
    }
    buffer.copyBytes(from: bytes)
    lines[number].inbound.removeFirst(count)
    return .bytes(count)
  }

  func write(_ number: Int, _ bytes: UnsafeRawBufferPointer) -> Writing {
    require(lines[number].isOpen, "only an open line is written")
    require(bytes.count > 0 && bytes.count <= 16 << 10, "a record has at most the size of TLS's")
    if lines[number].isBroken { return .broken }
    let count = min(bytes.count, lines[number].room)
    guard count > 0 else { return .full }
    if lines[number].room != .max { lines[number].room -= count }
    lines[number].reader.read(UnsafeRawBufferPointer(rebasing: bytes[..<count]), self)
    return .bytes(count)
  }

  func watch(_ number: Int, _ readiness: Readiness) { lines[number].watched.formUnion(readiness) }

  func takeReadiness(_ number: Int) -> Readiness {
    defer { lines[number].found = [] }
    return lines[number].found
  }

  /// Plays until a watched line is ready or it is the caller's turn, which lets time pass.
  func wait(until time: Int64) {
    while !findReady(), !isOver, hasMore, peek() & 15 > 3 { play() }
    if !findReady() { clock = max(clock, time) }
    for number in lines.indices { lines[number].watched = [] }
  }

  func pause(_ time: Int64) {
    require(time > 0 && time <= 300_000, "a pause is short")
    clock += time
  }

  private func findReady() -> Bool {
    var isAny = false
    for number in lines.indices where lines[number].isOpen {
      var found: Readiness = []
      if isReadable(number) { found.insert(.reading) }
      if lines[number].room > 0 || lines[number].isBroken { found.insert(.writing) }
      found.formIntersection(lines[number].watched)
      lines[number].found = found
      isAny = isAny || !found.isEmpty
    }
    return isAny
  }

  /// Records that a request's header block has arrived; returns its number.
  fileprivate func hear(path: [UInt8]) -> Int? {
    let prefix = Array("/3/device/".utf8)
    guard path.starts(with: prefix) else { return nil }
    let digits = path.dropFirst(prefix.count)
    let text = String(decoding: digits, as: UTF8.self)
    let serial = requests.lastIndex {
      $0.token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == text
    }
    if let serial { heard.insert(serial) }
    return serial
  }

  fileprivate func payload(_ serial: Int) -> [UInt8] { requests[serial].payload }
}

/// Reads what a client writes, and ends the program if it is not valid HTTP/2.
private struct ClientReader {
  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  private var bytes: [UInt8] = []
  private var hasPreface = false
  private let inflater = Inflater()
  private var block: [UInt8] = []
  /// The streams that were opened, and how much of each payload has arrived.
  private(set) var streams: [UInt32] = []
  private var bodies: [UInt32: (serial: Int, count: Int)] = [:]

  mutating func read(_ more: UnsafeRawBufferPointer, _ server: HostileServer) {
    bytes += more
    if !hasPreface {
      guard bytes.count >= Self.preface.count else { return }
      require(bytes.starts(with: Self.preface), "a connection begins with the preface")
      bytes.removeFirst(Self.preface.count)
      hasPreface = true
    }
    while bytes.count >= 9 {
      let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
      guard bytes.count >= 9 + length else { return }
      let stream = bytes[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      let payload = Array(bytes[9..<9 + length])
      frame(bytes[3], bytes[4], stream, payload, server)
      bytes.removeFirst(9 + length)
    }
  }

  private mutating func frame(
    _ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8], _ server: HostileServer
  ) {
    switch type {
    case 1, 9:
      if type == 1 {
        require(flags & 0x08 == 0, "no frame is padded")
        require(stream & 1 == 1 && stream > streams.last ?? 0, "stream numbers grow")
        streams.append(stream)
        block = flags & 0x20 != 0 ? Array(payload.dropFirst(5)) : payload
      } else {
        block += payload
      }
      guard flags & 4 != 0 else { return }
      let fields = inflater.read(block)
      // An apns-id from an earlier response stays with the notification.
      let names = fields.map { String(decoding: $0.name, as: UTF8.self) }.filter { $0 != "apns-id" }
      require(
        names == [":method", ":scheme", ":path", ":authority", "apns-push-type"],
        "a request has the fields that Apple requires")
      guard let path = fields.first(where: { $0.name.elementsEqual(":path".utf8) }),
        let serial = server.hear(path: path.value)
      else { return require(false, "a request belongs to a notification") }
      bodies[stream] = (serial, 0)
    case 0:
      guard let body = bodies[stream] else { return require(false, "DATA belongs to a request") }
      let whole = server.payload(body.serial)
      let count = body.count + payload.count
      require(count <= whole.count, "no more than the payload is sent")
      require(payload.elementsEqual(whole[body.count..<count]), "the payload is unchanged")
      require((flags & 1 != 0) == (count == whole.count), "the stream ends with the payload")
      bodies[stream] = (body.serial, count)
    case 3, 4, 6, 7, 8: break
    default: require(false, "a client may send this type of frame")
    }
  }
}

/// Decodes header blocks with nghttp2.
private final class Inflater {
  private var inflater: OpaquePointer?

  init() { require(nghttp2_hd_inflate_new(&inflater) == 0, "memory was allocated") }
  deinit { nghttp2_hd_inflate_del(inflater) }

  func read(_ block: [UInt8]) -> [(name: [UInt8], value: [UInt8])] {
    var fields: [(name: [UInt8], value: [UInt8])] = []
    block.withUnsafeBufferPointer { block in
      guard var next = block.baseAddress else { return }
      var left = block.count
      while true {
        var field = nghttp2_nv()
        var flags: CInt = 0
        let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, next, left, 1)
        require(count >= 0, "header blocks are valid HPACK")
        next += count
        left -= count
        if UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 {
          fields.append(
            (
              Array(UnsafeBufferPointer(start: field.name, count: field.namelen)),
              Array(UnsafeBufferPointer(start: field.value, count: field.valuelen))
            ))
        }
        if UInt32(flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 { break }
      }
      nghttp2_hd_inflate_end_headers(inflater)
    }
    return fields
  }
}

/// The session's network: every line leads to the server.
struct FuzzNetwork: Network, ~Copyable {
  let server: HostileServer

  var now: Int64 { server.now() }
  mutating func random() -> UInt64 { 0x9E37_79B9_7F4A_7C15 }
  mutating func open(_ line: Int, isStandby: Bool, by deadline: Int64) throws(Failure) {
    try server.open(line)
  }
  mutating func advance(_ line: Int) throws(Failure) -> Opening { .open }
  mutating func read(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    server.read(line, into: buffer)
  }
  mutating func write(_ line: Int, _ bytes: UnsafeRawBufferPointer) -> Writing {
    server.write(line, bytes)
  }
  func failure(_ line: Int) -> Failure { Failure(APNS_ERR_NETWORK, "broke") }
  func isReadable(_ line: Int) -> Bool { server.isReadable(line) }
  mutating func halfClose(_ line: Int) {}
  mutating func drop(_ line: Int) { server.drop(line) }
  mutating func silence() { require(false, "the process was not forked") }
  mutating func watch(_ line: Int, for readiness: Readiness) { server.watch(line, readiness) }
  mutating func ignoreUnread(_ line: Int) {}
  mutating func wait(until time: Int64) { server.wait(until: time) }
  // The fuzzer's sessions are blocking.
  mutating func look() {}
  mutating func arm(until time: Int64) {}
  mutating func wake() {}
  mutating func pause(_ time: Int64) { server.pause(time) }
  mutating func readiness(_ line: Int) -> Readiness { server.takeReadiness(line) }
  func append(to message: inout Message) { message.append("the hostile server") }
}
