import CAPNS
import CNGHTTP2
import CSystem

/// HTTP/2 on one connection: nghttp2's session, which gets every read byte and supplies every byte
/// to write, and the TLS record being filled. No I/O and no clock. It stays at one address because
/// nghttp2 keeps it.
struct HTTP2Codec {
  fileprivate let outbox: UnsafeMutablePointer<Outbox>
  fileprivate let number: UInt16
  fileprivate var showsToken = false
  fileprivate let log: UnsafeMutablePointer<SessionLog>?
  /// The connection's number in the log.
  var serial: UInt32 = 0
  fileprivate var codec: OpaquePointer?
  /// nghttp2's memory.
  fileprivate var memory: UnsafeMutablePointer<StreamMemory>?
  fileprivate var headers: RequestHeaders
  /// A TLS record's worth (RFC 8446, 5.1), with room for what goes beyond it, and how much of it is
  /// filled and written.
  fileprivate let record: UnsafeMutablePointer<UInt8>
  fileprivate var filled = 0
  fileprivate var written = 0
  /// TLS has the record and could not write it yet. It writes that much and no more, so nothing joins it.
  fileprivate var isOffered = false
  /// The record holds all that there is to write.
  fileprivate(set) var isAll = false
  /// Records written so far.
  private var records: UInt16 = 0
  /// Bytes from nghttp2 that did not fit into the record.
  fileprivate var rest = UnsafeRawBufferPointer(start: nil, count: 0)
  /// nghttp2 has failed for good.
  fileprivate var hasFailed = false
  /// Payload bytes that nghttp2 has not yet put into frames.
  private(set) var owed = 0
  /// The stream whose rest waits for a flow-control window worth a frame, 0 without one, and the
  /// window that this needs.
  private var deferred: Int32 = 0
  private var deferredUntil = 0
  /// Parts of payloads put into frames since this was last read.
  private var partsWritten: UInt64 = 0
  /// The slots that were answered last and sent last.
  private var lastResponded = 0
  fileprivate var lastSent = 0

  /// Streams without a response.
  private(set) var inFlight = 0
  /// How many may be in flight together because of notifications that connections ended with.
  private var flightLimit = FlightLimit()
  /// The peer's SETTINGS have come, and how many streams it takes at once: until then, one is tried.
  private(set) var hasSettings = false
  private var streamLimit = 1
  /// The peer takes no more streams, or their numbers have run out.
  private(set) var isDraining = false
  /// The peer sent GOAWAY.
  private var hasReceivedGoaway = false
  /// How many streams got responses, and whether one of them was accepted.
  private(set) var responses: UInt64 = 0
  private(set) var hasAccepted = false
  /// A PING is outstanding, before which no stream is opened.
  private(set) var isAsked = false
  /// A PING is outstanding while streams are open.
  private(set) var isProbed = false
  /// How often more streams were tried before a provider token's first response.
  private(set) var trials = 0

  static var recordSize: Int { 16 << 10 }
  /// More than any payload takes, so that each goes into one frame as far as the peer's windows allow.
  private static var maxPart: Int { 5120 }
  /// The header encoder's state is stored after the record, in which the last frame goes beyond the
  /// end.
  fileprivate static var headersOffset: Int {
    recordSize &+ max(RequestHeaders.maximum, maxPart &+ 16)
  }

  /// Nil if out of memory.
  static func make(
    number: Int, outbox: UnsafeMutablePointer<Outbox>,
    log: UnsafeMutablePointer<SessionLog>? = nil
  ) -> UnsafeMutablePointer<HTTP2Codec>? {
    let size = headersOffset &+ RequestHeaders.size
    guard let record = malloc(size)?.bindMemory(to: UInt8.self, capacity: size) else {
      return nil
    }
    guard
      let itself = malloc(MemoryLayout<HTTP2Codec>.size)?
        .bindMemory(to: HTTP2Codec.self, capacity: 1)
    else {
      free(record)
      return nil
    }
    itself.begin(UInt16(truncatingIfNeeded: number), outbox, record, log)
    return itself
  }

  fileprivate init(
    _ number: UInt16, _ outbox: UnsafeMutablePointer<Outbox>,
    _ record: UnsafeMutablePointer<UInt8>, _ log: UnsafeMutablePointer<SessionLog>?
  ) {
    self.log = log
    self.number = number
    self.outbox = outbox
    self.record = record
    headers = RequestHeaders(record + Self.headersOffset)
  }

  // MARK: Beginning and ending

  /// Starts no more streams here.
  mutating func drain() { isDraining = true }

  /// Starts no more streams here, and takes back unwritten ones. They are reported as refused when
  /// the next record is filled. To be called once.
  mutating func drainUnsent() {
    isDraining = true
    let codec = codec
    outbox.pointee.forEachInFlight(on: number) {
      let stream = $0.stream($1)
      // nghttp2 knows a stream once its first frame was written.
      if nghttp2_session_get_stream_user_data(codec, stream) == nil {
        _ = nghttp2_submit_rst_stream(
          codec, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_CANCEL.rawValue)
      }
    }
  }

  /// Queues GOAWAY(NO_ERROR).
  func sendGoaway() { _ = nghttp2_session_terminate_session(codec, NGHTTP2_NO_ERROR.rawValue) }

  /// Sends a PING. No stream is opened until it is acknowledged.
  mutating func ask() { isAsked = sendPing(0) }

  /// Sends a PING while streams are opened.
  mutating func probe() { isProbed = sendPing(Self.probeMark) }

  private func sendPing(_ mark: UInt64) -> Bool {
    var mark = mark
    let isSent = withUnsafeBytes(of: &mark) {
      nghttp2_submit_ping(
        codec, UInt8(NGHTTP2_FLAG_NONE.rawValue),
        $0.baseAddress?.assumingMemoryBound(to: UInt8.self)) == 0
    }
    if isSent { outbox.pointee.metrics.pointee.pings &+= 1 }
    return isSent
  }

  /// Every byte of a PING sent while streams are open, to distinguish it from others.
  private static var probeMark: UInt64 { 0x0101_0101_0101_0101 }

  /// The response to this stream is no longer wanted.
  func cancel(_ stream: Int32) {
    outbox.pointee.metrics.pointee.timeouts &+= 1
    _ = nghttp2_submit_rst_stream(
      codec, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_CANCEL.rawValue)
  }

  /// The response to the stream's notification is no longer wanted, and its slot may be used again.
  /// False if nothing of it was written. Must not call the outbox, which is at work.
  mutating func giveUp(_ stream: Int32, ends: UInt8, unsent: Int) -> Bool {
    // nghttp2 knows a stream once its first frame was written.
    let isBegun = nghttp2_session_get_stream_user_data(codec, stream) != nil
    left(stream, ends: ends, unsent: unsent)
    _ = nghttp2_submit_rst_stream(
      codec, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_CANCEL.rawValue)
    return isBegun
  }

  // MARK: Asking

  /// It is not known yet how much the connection takes: the peer's SETTINGS have not come, or it
  /// has not answered the first request with a provider token, or a PING is unanswered.
  var isNew: Bool { !hasSettings || isUntried && trials == 0 || isAsked }

  /// The peer has not yet responded to a request with the provider token.
  var isUntried: Bool { showsToken && responses == 0 }

  /// The first request may never get a response. So some more are tried, as far as the peer's
  /// SETTINGS allow: with them APNs allows one stream until it has accepted the token.
  mutating func tryMore() { trials &+= 1 }

  /// Nobody would wait for more streams than this.
  static var maxTrials: Int { 4 }

  /// The peer allows only one stream without a response.
  var isHeld: Bool {
    hasSettings && inFlight > 0 && !isDraining && streamLimit <= 1
  }

  /// How many requests may begin now. It is `mutating` because otherwise it would get a copy of the
  /// whole connection.
  @inline(never)
  mutating func freeStreams() -> Int {
    guard codec != nil, !isDraining, !isAsked else { return 0 }
    let allowed = isUntried ? min(streamLimit, 1 << (3 &* trials)) : streamLimit
    return max(0, min(allowed, flightLimit.maximum) &- inFlight)
  }

  /// How many bytes of a payload may be sent now; nil: no request may.
  mutating func room() -> Int? {
    guard let codec, freeStreams() > 0 else { return nil }
    // A payload that does not fit stays in the outbox, where another connection can take it.
    return Int(nghttp2_session_get_remote_window_size(codec)) &- owed
  }

  /// The connection accepts not one byte of a payload.
  var isStarved: Bool {
    mutating get { hasSettings && !isDraining && (room() ?? 0) < 1 }
  }

  /// Whether a notification that was in flight at `ends` ends may join those in flight now.
  @inline(__always)
  mutating func takes(ends: UInt8) -> Bool {
    ends == 0
      || inFlight < FlightLimit.maximum(for: ends)
        && (!FlightLimit.isApart(ends) || inFlight == flightLimit.apart)
  }

  /// It carries notifications sent apart from others.
  var isApart: Bool { flightLimit.apart > 0 }

  /// Sends a request; its header fields are written with its frame. Returns its stream, or nil if
  /// this connection accepts no more.
  mutating func submit(_ slot: Int, payloadCount: Int) -> Int32? {
    guard let handle = UnsafeMutableRawPointer(bitPattern: slot &+ 1) else { return nil }
    var source = nghttp2_data_provider()
    source.source.ptr = handle
    source.read_callback = payloadWanted
    // Only a channel management request has no payload.
    let stream =
      payloadCount == 0
      ? nghttp2_submit_request(codec, nil, nil, 0, nil, handle)
      : nghttp2_submit_request(codec, nil, nil, 0, &source, handle)
    guard stream > 0 else {
      isDraining = true
      return nil
    }
    inFlight &+= 1
    flightLimit.joined(outbox.pointee.ends(slot))
    owed &+= payloadCount
    return stream
  }

  // MARK: Bytes out

  /// `count` bytes of the record have been written.
  mutating func wrote(_ count: Int) {
    written &+= count
    if written >= filled { (filled, written) = (0, 0) }
    isOffered = false
    records &+= 1
  }

  /// HTTP/2 has ended on this connection in both directions.
  var isOver: Bool {
    mutating get { nghttp2_session_want_read(codec) == 0 && !hasUnwritten }
  }

  var hasUnwritten: Bool {
    mutating get {
      filled > written || rest.count > 0 || nghttp2_session_want_write(codec) != 0
    }
  }

  // MARK: What nghttp2 reports

  /// Usually the last one or the next: responses tend to come in order.
  private mutating func slot(_ stream: Int32) -> Int? {
    if outbox.pointee.isInFlight(lastResponded, on: number, stream) { return lastResponded }
    guard let slot = slot(stream, behind: lastResponded) else { return nil }
    lastResponded = slot
    return slot
  }

  @inline(never)
  private mutating func slot(_ stream: Int32, behind last: Int) -> Int? {
    let next = outbox.pointee.slot(behind: last)
    if outbox.pointee.isInFlight(next, on: number, stream) { return next }
    guard let handle = nghttp2_session_get_stream_user_data(codec, stream) else { return nil }
    let slot = Int(bitPattern: handle) &- 1
    // After an abandoned stream, another may have its slot by now.
    return outbox.pointee.isInFlight(slot, on: number, stream) ? slot : nil
  }

  /// Writes the frame with a request's header fields at the end of the record, instead of nghttp2's
  /// frame without them; false if that is impossible.
  fileprivate mutating func writeHeaders(
    _ frame: UnsafePointer<UInt8>, of authority: CommonHeaders
  ) -> Bool {
    let head = UnsafeRawPointer(frame)
    let stream = Int32(
      truncatingIfNeeded: UInt32(
        bigEndian: head.loadUnaligned(fromByteOffset: 5, as: UInt32.self)))
    guard let slot = slot(stream, behind: lastSent) else { return false }
    lastSent = slot
    let target = UnsafeMutableRawPointer(record + filled)
    let start = target + Self.frameHead
    guard
      let end = headers.write(
        outbox.pointee.request(slot), id: outbox.pointee.id(slot), of: authority,
        to: start)
    else { return false }
    target.copyMemory(from: head, byteCount: Self.frameHead)
    let count = UInt32(truncatingIfNeeded: end - start)
    target.storeBytes(of: UInt8(truncatingIfNeeded: count &>> 16), as: UInt8.self)
    target.storeBytes(
      of: UInt16(truncatingIfNeeded: count).bigEndian, toByteOffset: 1, as: UInt16.self)
    filled &+= Self.frameHead &+ Int(count)
    return true
  }

  /// The length, in three bytes, the type, flags and the stream (RFC 9113, 4.1).
  fileprivate static var frameHead: Int { 9 }

  fileprivate mutating func streamEnded(_ stream: Int32, refused: Bool) {
    // The outbox knows already about a request that was not sent.
    guard let slot = slot(stream) else { return }
    left(stream, ends: outbox.pointee.ends(slot), unsent: outbox.pointee.unsent(slot))
    // While the connection is draining every later stream is refused; don't count that against this
    // notification. A server that takes requests and never responds may process them all the same.
    let response = outbox.pointee.streamEnded(
      slot, refused: refused, counts: !isDraining, turnsAway: hasReceivedGoaway && responses == 0)
    if let response {
      responses &+= 1
      if response < 300 { hasAccepted = true }
    }
  }

  private mutating func left(_ stream: Int32, ends: UInt8, unsent: Int) {
    inFlight &-= 1
    flightLimit.left(ends)
    if deferred == stream { deferred = 0 }
    // Nothing else would make the peer say more.
    if inFlight == 1 { resume() }
    owed = max(0, owed &- unsent)
  }

  /// A request was submitted and can no longer be sent: it never had a stream, and no other will
  /// get one.
  fileprivate mutating func requestNotSent(_ stream: Int32) {
    let (outbox, number) = (outbox, number)
    var found: Int?
    outbox.pointee.forEachInFlight(on: number) {
      if $0.stream($1) == stream { found = $1 }
    }
    // It may be that nobody waits for it any more.
    guard let slot = found else { return }
    isDraining = true
    left(stream, ends: outbox.pointee.ends(slot), unsent: outbox.pointee.unsent(slot))
    outbox.pointee.refuse(slot)
    outbox.pointee.streamEnded(slot)
  }

  /// False if the response is malformed (RFC 9113, 8.1.1 and 8.3); its stream is reset. nghttp2
  /// would also check the bytes of unused fields, which do not matter here.
  fileprivate mutating func heardHeader(
    _ stream: Int32, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    guard let slot = slot(stream) else { return true }
    return outbox.pointee.receive(name, value, slot)
  }

  /// A server may refuse an incomplete request (RFC 9113, 8.1). The rest is of no use.
  private mutating func responseEnded(_ slot: Int) {
    guard outbox.pointee.responseEnded(slot, at: records) else { return }
    reset(outbox.pointee.stream(slot), NGHTTP2_CANCEL)
  }

  @inline(never)
  private func reset(_ stream: Int32, _ error: nghttp2_error_code) {
    _ = nghttp2_submit_rst_stream(
      codec, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, error.rawValue)
  }

  /// All fields of a response have come, or its trailers.
  fileprivate mutating func heardHeaders(_ stream: Int32, isLast: Bool) {
    guard let slot = slot(stream) else { return }
    switch outbox.pointee.headersEnded(slot) {
    case 200...: if isLast { responseEnded(slot) }
    case 0: if !isLast { reset(stream, NGHTTP2_PROTOCOL_ERROR) }
    default: break
    }
  }

  /// The end of a response's body has come.
  fileprivate mutating func heardEnd(_ stream: Int32) {
    guard let slot = slot(stream) else { return }
    responseEnded(slot)
  }

  fileprivate mutating func heardReset(_ stream: Int32, _ error: UInt32) {
    // A server that needs no more of the request resets it without an error (RFC 9113, 8.1).
    guard error != NGHTTP2_NO_ERROR.rawValue, let slot = slot(stream) else { return }
    outbox.pointee.streamReset(slot)
  }

  fileprivate mutating func heardBody(_ stream: Int32, _ bytes: UnsafeRawBufferPointer) {
    guard let slot = slot(stream) else { return }
    let whole = outbox.pointee.receive(body: bytes, slot)
    // We requested a body that is kept, so it does not count toward the flood budget.
    if whole != .none { partsWritten &+= UInt64(truncatingIfNeeded: bytes.count / 32 &+ 1) }
    if whole == .tooLong { reset(stream, NGHTTP2_CANCEL) }
  }

  fileprivate mutating func heardSettings() {
    hasSettings = true
    streamLimit = Int(
      nghttp2_session_get_remote_settings(codec, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    headers.limitTable(
      to: Int(nghttp2_session_get_remote_settings(codec, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE)))
  }

  fileprivate mutating func heardPong(_ mark: UInt8) {
    if mark == UInt8(truncatingIfNeeded: Self.probeMark) {
      isProbed = false
    } else {
      isAsked = false
    }
  }

  fileprivate mutating func receivedGoaway() {
    (isDraining, hasReceivedGoaway) = (true, true)
    outbox.pointee.metrics.pointee.goaways &+= 1
  }

  /// The notification that a stream carries, if it still does.
  fileprivate mutating func notification(of stream: Int32) -> Int? {
    guard let slot = slot(stream, behind: lastSent),
      outbox.pointee.isInFlight(slot, on: number, stream)
    else { return nil }
    return slot
  }

  /// A stream's notification: its request, and the response's status.
  fileprivate func describe(_ slot: Int) -> (request: StoredRequest, status: UInt16) {
    (outbox.pointee.request(slot), outbox.pointee.status(slot))
  }

  /// The peer's window has grown.
  fileprivate mutating func heardWindow() {
    guard deferred != 0,
      Int(nghttp2_session_get_remote_window_size(codec)) >= deferredUntil
    else { return }
    resume()
  }

  mutating func takePartsWritten() -> UInt64 {
    let parts = partsWritten
    partsWritten = 0
    return parts
  }

  private mutating func resume() {
    guard deferred != 0 else { return }
    _ = nghttp2_session_resume_data(codec, deferred)
    deferred = 0
  }

  /// If a peer returns only as much flow-control window as it has read, parts would get ever
  /// smaller, each with its own frame and window update (RFC 9293, 3.8.6.2, describes the same for
  /// TCP). So a part must be worth a frame, as long as responses to others, and more room with
  /// them, are to come.
  private static var leastPart: Int { 1 << 10 }

  /// Whether the rest of a payload waits for more room in the connection's flow-control window. It
  /// does not wait for its stream's own window.
  private mutating func defers(_ stream: Int32, rest: Int, room: Int) -> Bool {
    let least = min(rest, Self.leastPart)
    guard room < least, inFlight > 1, deferred == 0,
      Int(nghttp2_session_get_remote_window_size(codec)) <= room
    else { return false }
    (deferred, deferredUntil) = (stream, least)
    return true
  }

  /// How much of a payload goes into the next frame; nil when the stream waits.
  fileprivate mutating func nextPart(
    _ slot: Int, of stream: Int32, _ room: Int
  ) -> (count: Int, isLast: Bool)? {
    let rest = outbox.pointee.unsent(slot)
    guard rest >= 0 else { return (0, true) }
    if defers(stream, rest: rest, room: room) { return nil }
    let count = min(room, rest, Self.maxPart)
    return (count, count == rest)
  }

  /// Writes a frame with that much of a payload at the end of the record, without a copy between;
  /// false if there is less.
  fileprivate mutating func writePart(
    _ frame: UnsafePointer<UInt8>, _ count: Int, of slot: Int
  ) -> Bool {
    let payload = outbox.pointee.request(slot).payload
    let sent = payload.count &- outbox.pointee.unsent(slot)
    guard count >= 0, count <= payload.count &- sent, let base = payload.baseAddress else {
      return false
    }
    let target = UnsafeMutableRawPointer(record + filled)
    target.copyMemory(from: frame, byteCount: Self.frameHead)
    memcpy(target + Self.frameHead, base + sent, count)
    filled &+= Self.frameHead &+ count
    // Bytes that do not fit into this record begin the next one.
    outbox.pointee.sent(
      slot, through: sent &+ count, in: filled > Self.recordSize ? records &+ 1 : records)
    owed = max(0, owed &- count)
    partsWritten &+= 1
    return true
  }
}

// MARK: What calls back

/// nghttp2 calls back while it works, and the callbacks change the connection. So these functions
/// keep no access to it meanwhile.
extension UnsafeMutablePointer<HTTP2Codec> {
  /// SETTINGS_NO_RFC7540_PRIORITIES; nghttp2 has a name for it since 1.48.
  private static var noPriorities: Int32 { 9 }

  @inline(never)
  fileprivate func begin(
    _ number: UInt16, _ outbox: UnsafeMutablePointer<Outbox>,
    _ record: UnsafeMutablePointer<UInt8>, _ log: UnsafeMutablePointer<SessionLog>?
  ) { initialize(to: HTTP2Codec(number, outbox, record, log)) }

  /// The connection is gone. The caller must report notifications in flight to the outbox.
  func connectionEnded() {
    endHTTP2()
    begin(pointee.number, pointee.outbox, pointee.record, pointee.log)
  }

  private func endHTTP2() {
    nghttp2_session_del(pointee.codec)
    if let memory = pointee.memory { StreamMemory.end(memory) }
  }

  /// Begins HTTP/2 on a new connection; false if out of memory.
  func begin(showsToken: Bool) -> Bool {
    connectionEnded()
    pointee.showsToken = showsToken
    var callbacks: OpaquePointer?
    var option: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return false }
    defer { nghttp2_session_callbacks_del(callbacks) }
    guard nghttp2_option_new(&option) == 0 else { return false }
    defer { nghttp2_option_del(option) }
    // They belong to a priority tree that nothing here uses.
    nghttp2_option_set_no_closed_streams(option, 1)
    // `heardHeader` checks in responses what nghttp2 would check, for less.
    nghttp2_option_set_no_http_messaging(option, 1)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, heardHeader)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, heardBody)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, heardFrame)
    if let log = pointee.log, log.pointee.says(APNS_LOG_TRACE) {
      nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, sentFrame)
    }
    nghttp2_session_callbacks_set_send_data_callback(callbacks, partDue)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamEnded)
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frameNotSent)
    guard let memory = StreamMemory.make() else { return false }
    pointee.memory = memory
    var functions = StreamMemory.functions(memory)
    var codec: OpaquePointer?
    guard nghttp2_session_client_new3(&codec, callbacks, self, option, &functions) == 0 else {
      return false
    }
    pointee.codec = codec
    // Without RFC 7540's priorities (RFC 9218, 2.1) streams need no tree.
    var settings = (
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
      nghttp2_settings_entry(settings_id: Self.noPriorities, value: 1)
    )
    return withUnsafeBytes(of: &settings) {
      nghttp2_submit_settings(
        codec, UInt8(NGHTTP2_FLAG_NONE.rawValue),
        $0.baseAddress?.assumingMemoryBound(to: nghttp2_settings_entry.self), 2) == 0
    }
  }

  /// To be called once, when the connection is not used again.
  func end() {
    endHTTP2()
    free(pointee.record)
    deinitialize(count: 1)
    free(self)
  }

  /// See `RequestHeaders.authorization`.
  func write(authorization value: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer)
    -> Int
  { pointee.headers.authorization(value, to: target) }

  /// Bytes that wait to be written, at most a record; nil if HTTP/2 itself has ended.
  func fillRecord(of authority: CommonHeaders) -> UnsafeRawBufferPointer? {
    let written = pointee.written
    if written > 0 {
      pointee.filled &-= written
      memmove(pointee.record, pointee.record + written, pointee.filled)
      pointee.written = 0
    }
    fill(of: authority)
    if pointee.hasFailed { return nil }
    pointee.isOffered = pointee.filled > 0
    return UnsafeRawBufferPointer(
      start: pointee.record, count: min(pointee.filled, HTTP2Codec.recordSize))
  }

  /// Makes nghttp2 put waiting data into frames, until a record is full. Frames with payloads are
  /// written by `partDue` meanwhile.
  func fill(of authority: CommonHeaders) {
    pointee.isAll = false
    if pointee.isOffered { return }
    let record = pointee.record
    while pointee.filled < HTTP2Codec.recordSize {
      if pointee.rest.count == 0 {
        var bytes: UnsafePointer<UInt8>?
        let count = nghttp2_session_mem_send(pointee.codec, &bytes)
        if count < 0 { pointee.hasFailed = true }
        guard count > 0, let bytes else {
          pointee.isAll = pointee.filled < HTTP2Codec.recordSize
          return
        }
        // All that a client sends of these are requests.
        if UInt32(bytes[3]) == NGHTTP2_HEADERS.rawValue, count >= HTTP2Codec.frameHead {
          if pointee.writeHeaders(bytes, of: authority) { continue }
          pointee.hasFailed = true
          return
        }
        pointee.rest = UnsafeRawBufferPointer(start: bytes, count: count)
      }
      let (rest, filled) = (pointee.rest, pointee.filled)
      let count = min(rest.count, HTTP2Codec.recordSize &- filled)
      guard let base = rest.baseAddress else { return }
      memcpy(record + filled, base, count)
      pointee.filled = filled &+ count
      pointee.rest = UnsafeRawBufferPointer(start: base + count, count: rest.count &- count)
    }
  }

  /// Logs a frame, with its notification.
  @inline(never)
  fileprivate func trace(
    _ frame: UnsafePointer<nghttp2_frame>, isSent: Bool, _ log: UnsafeMutablePointer<SessionLog>
  ) {
    guard log.pointee.says(APNS_LOG_TRACE) else { return }
    let stream = frame.pointee.hd.stream_id
    let isRequest = UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue
    let slot = isRequest ? pointee.notification(of: stream) : nil
    log.trace(frame, isSent: isSent, slot.map { pointee.describe($0) }, on: pointee.serial)
  }

  /// Takes received bytes; false if they are not HTTP/2 or the peer broke its rules.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    nghttp2_session_mem_recv(
      pointee.codec, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
      == bytes.count
  }
}

// MARK: The callbacks

private func connection(
  _ context: UnsafeMutableRawPointer?
) -> UnsafeMutablePointer<HTTP2Codec>? {
  context?.assumingMemoryBound(to: HTTP2Codec.self)
}

private func heardHeader(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ name: UnsafePointer<UInt8>?, _ nameCount: Int, _ value: UnsafePointer<UInt8>?,
  _ valueCount: Int, _ flags: UInt8, _ context: UnsafeMutableRawPointer?
) -> CInt {
  guard let frame, let connection = connection(context) else { return 0 }
  let isFine = connection.pointee.heardHeader(
    frame.pointee.hd.stream_id, UnsafeRawBufferPointer(start: name, count: nameCount),
    UnsafeRawBufferPointer(start: value, count: valueCount))
  return isFine ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
}

private func heardBody(
  _ codec: OpaquePointer?, _ flags: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?,
  _ count: Int, _ context: UnsafeMutableRawPointer?
) -> CInt {
  connection(context)?.pointee.heardBody(
    stream, UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}

private func heardFrame(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  guard let frame, let connection = connection(context) else { return 0 }
  if let log = connection.pointee.log {
    log.heard(frame, on: connection.pointee.serial)
    connection.trace(frame, isSent: false, log)
  }
  if UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue {
    connection.pointee.heardHeaders(
      frame.pointee.hd.stream_id,
      isLast: UInt32(frame.pointee.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0)
  } else {
    heardOtherFrame(frame, connection)
  }
  return 0
}

/// Apart, because most frames are responses.
@inline(never)
private func heardOtherFrame(
  _ frame: UnsafePointer<nghttp2_frame>, _ connection: UnsafeMutablePointer<HTTP2Codec>
) {
  switch UInt32(frame.pointee.hd.type) {
  case NGHTTP2_DATA.rawValue
  where UInt32(frame.pointee.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0:
    connection.pointee.heardEnd(frame.pointee.hd.stream_id)
  case NGHTTP2_RST_STREAM.rawValue:
    connection.pointee.heardReset(
      frame.pointee.hd.stream_id, frame.pointee.rst_stream.error_code)
  case NGHTTP2_SETTINGS.rawValue
  where UInt32(frame.pointee.hd.flags) & NGHTTP2_FLAG_ACK.rawValue == 0:
    connection.pointee.heardSettings()
  case NGHTTP2_PING.rawValue
  where UInt32(frame.pointee.hd.flags) & NGHTTP2_FLAG_ACK.rawValue != 0:
    connection.pointee.heardPong(frame.pointee.ping.opaque_data.0)
  case NGHTTP2_WINDOW_UPDATE.rawValue:
    if frame.pointee.hd.stream_id == 0 { connection.pointee.heardWindow() }
  case NGHTTP2_GOAWAY.rawValue:
    connection.pointee.receivedGoaway()
  default: break
  }
}

private func sentFrame(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  if let frame, let connection = connection(context), let log = connection.pointee.log {
    connection.trace(frame, isSent: true, log)
  }
  return 0
}

private func streamEnded(
  _ codec: OpaquePointer?, _ stream: Int32, _ error: UInt32,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  connection(context)?.pointee.streamEnded(
    stream, refused: error == NGHTTP2_REFUSED_STREAM.rawValue)
  return 0
}

private func frameNotSent(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ error: CInt,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  guard let frame, UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue else { return 0 }
  connection(context)?.pointee.requestNotSent(frame.pointee.hd.stream_id)
  return 0
}

private func payloadWanted(
  _ codec: OpaquePointer?, _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?,
  _ room: Int, _ flags: UnsafeMutablePointer<UInt32>?,
  _ source: UnsafeMutablePointer<nghttp2_data_source>?, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let handle = source?.pointee.ptr, let connection = connection(context) else {
    return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
  }
  guard
    let (count, isLast) = connection.pointee.nextPart(
      Int(bitPattern: handle) &- 1, of: stream, room)
  else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
  flags?.pointee =
    NGHTTP2_DATA_FLAG_NO_COPY.rawValue | (isLast ? NGHTTP2_DATA_FLAG_EOF.rawValue : 0)
  return count
}

private func partDue(
  _ codec: OpaquePointer?, _ frame: UnsafeMutablePointer<nghttp2_frame>?,
  _ head: UnsafePointer<UInt8>?, _ count: Int,
  _ source: UnsafeMutablePointer<nghttp2_data_source>?, _ context: UnsafeMutableRawPointer?
) -> CInt {
  guard let head, let handle = source?.pointee.ptr, let connection = connection(context),
    connection.pointee.writePart(head, count, of: Int(bitPattern: handle) &- 1)
  else { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue }
  return connection.pointee.filled < HTTP2Codec.recordSize ? 0 : NGHTTP2_ERR_PAUSE.rawValue
}
