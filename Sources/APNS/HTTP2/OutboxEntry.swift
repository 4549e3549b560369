import CSystem

/// The outbox's state of a notification besides its request.
struct OutboxEntry {
  var userData: UnsafeMutableRawPointer?
  /// The response body; from malloc, nil without one.
  var body: UnsafeMutablePointer<ResponseText>?
  var identifier: UInt32
  /// Where its request starts in the store.
  var place: UInt32
  /// The unresolved ones queued before and after it, as slot plus one; 0: none.
  var older: UInt32 = 0
  var newer: UInt32 = 0
  /// The next one of the list it is in, as slot plus one; 0: none.
  var next: UInt32 = 0
  /// While it is in flight: its stream, and the number of that stream's connection.
  var stream: Int32 = 0
  var connection: UInt16 = 0
  var state = OutboxState.queued
  /// How often it was sent and the response requested a retry.
  var tries: UInt8 = 0
  /// The status of the response so far; 0: none yet.
  var status: UInt16 = 0
  /// The response is complete.
  var isWhole = false
  /// The peer reset its stream with an error, or its response is malformed or came too soon to be
  /// true.
  var isReset = false
  /// The peer refused its stream without having processed it.
  var isRefused = false
  /// How often it was refused so while the connection took others.
  var refusals: UInt8 = 0
  /// How often it was sent and stayed in doubt, and how often because its connection ended.
  var doubts: UInt8 = 0
  var ends: UInt8 = 0
  var interest = Interest.whole
  /// A provider token was replaced for it.
  var hasNewToken = false
  /// `ids` is the text of an apns-id.
  private var hasDigits = false
  /// The announced length of the response's body plus one, 0 without one; and its length so far.
  var bodyLength: UInt32 = 0
  var bodyHeard: UInt32 = 0
  /// How many bytes of its payload the stream has taken.
  var sent: UInt16 = 0
  /// The last status that requested a retry; 0: none.
  var lastStatus: UInt16 = 0
  /// When the service first asked for another try, in ms of the monotonic clock.
  var patientSince: UInt32 = 0
  /// When it was last sent, on the same clock.
  var sentAt: Seconds = 0
  /// The last response's retry-after in seconds; 0: missing.
  var asked: Seconds = 0
  /// `id` and `unique`, or digits, because few callers want to know the id of an accepted response.
  private var ids: UUIDText.Digits = (0, 0, 0, 0)
  /// Which provider token it was sent with.
  var tokenGeneration: UInt32 = 0
  var lastReason = Reason.none
  /// How often it was sent on a connection that answered nothing and then reported by GOAWAY that
  /// it had processed nothing.
  var turnedAway: UInt8 = 0
  var outcome = Outcome.unknown
  /// Sub-second part of `sentAt`, see `SendTime`.
  var sentFraction: UInt16 = 0
  /// The connection's record with the end of its payload.
  var record: UInt16 = 0
  /// By when it has its end. It fills the entry's last four bytes.
  let due: ShortDeadline

  init(
    userData: UnsafeMutableRawPointer?, identifier: UInt32, place: UInt32,
    id: InlineArray<16, UInt8> = InlineArray(repeating: 0), older: UInt32 = 0,
    due: ShortDeadline = .none
  ) {
    self.userData = userData
    self.identifier = identifier
    self.place = place
    self.older = older
    self.due = due
    (ids.0, ids.1) = Self.words(id)
  }

  /// The apns-id, or a broadcast's apns-request-id: the caller's, or the response's once it is
  /// there. All zero: none.
  var id: InlineArray<16, UInt8> {
    get {
      guard hasDigits else {
        return unsafeBitCast((ids.0, ids.1), to: InlineArray<16, UInt8>.self)
      }
      return UUIDText.bytes(ids) ?? InlineArray(repeating: 0)
    }
    set {
      if hasDigits { (ids.2, ids.3, hasDigits) = (0, 0, false) }
      (ids.0, ids.1) = Self.words(newValue)
    }
  }

  /// The response's apns-unique-id. All zero: none.
  var unique: InlineArray<16, UInt8> {
    get {
      unsafeBitCast(hasDigits ? (0, 0) : (ids.2, ids.3), to: InlineArray<16, UInt8>.self)
    }
    set {
      if hasDigits { id = id }
      (ids.2, ids.3) = Self.words(newValue)
    }
  }

  /// Takes the apns-id of the response.
  @inline(__always)
  mutating func hear(id text: UnsafeRawBufferPointer) {
    if status == 200, ids.0 | ids.1 | ids.2 | ids.3 == 0, let digits = UUIDText.digits(text) {
      (ids, hasDigits) = (digits, true)
    } else if let bytes = UUIDText.bytes(text) {
      id = bytes
    }
  }

  /// It is not resent.
  var isCancelled: Bool { interest != .whole }

  /// Only a whole response counts: its header fields and the end of the stream, without an error in
  /// between.
  var hasResponse: Bool { isWhole && !isReset && status >= 200 }

  /// The response for the caller. If the outcome is unknown, the last response that requested a
  /// retry.
  var response: ServiceResponse? {
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    switch outcome {
    case .accepted:
      return ServiceResponse(
        status: status, reason: 0, reasonText: none, goneSince: 0, retryAfter: 0, isAsked: false,
        id: Self.words(id), unique: Self.words(unique))
    case .rejected where interest != .expired:
      return ServiceResponse(
        status: status, reason: lastReason.number, reasonText: body?.text ?? none,
        goneSince: body?.pointee.goneSince ?? 0,
        retryAfter: lastReason.retryAfter(
          httpStatus: Int(status), asked: body?.pointee.retryAfter ?? 0),
        isAsked: (body?.pointee.retryAfter ?? 0) > 0,
        id: Self.words(id), unique: Self.words(unique))
    case .rejected, .unknown, .cancelled, .expired:
      guard lastStatus != 0 else { return nil }
      return ServiceResponse(
        status: lastStatus, reason: lastReason.number, reasonText: lastReason.text ?? none,
        goneSince: 0, retryAfter: lastReason.retryAfter(httpStatus: Int(lastStatus), asked: asked),
        isAsked: asked > 0, id: outcome.isRejected ? Self.words(id) : (0, 0),
        unique: outcome.isRejected ? Self.words(unique) : (0, 0))
    }
  }

  private static func words(_ id: InlineArray<16, UInt8>) -> (UInt64, UInt64) {
    unsafeBitCast(id, to: (UInt64, UInt64).self)
  }
}

/// The caller's remaining interest in a notification.
enum Interest: UInt8 {
  case whole
  /// It is not resent.
  case cancelled
  /// Nor has it an event: a push timed out and has returned that.
  case told
  /// Its deadline passed while it waited to be sent.
  case expired
}

enum OutboxState: UInt8 {
  /// Waits to be sent, for the first time or again.
  case queued
  case inFlight
  /// Its stream has ended and is not processed yet.
  case responded
  /// It has its outcome, which waits to be taken.
  case ended
  /// It is not needed any more.
  case done
}

/// The body of a response that is not 200: a short JSON object. Once it has been read, the reason
/// in it.
struct ResponseText {
  /// More than any of Apple's reasons takes.
  private static let capacity = 255
  /// A body that today's APNs would not write is read up to this length.
  static let maximum = 4 << 10
  // First, so that it lies at the address of the whole.
  var bytes = InlineArray<255, UInt8>(repeating: 0)
  private(set) var count: UInt8 = 0
  /// A longer body, from malloc, and its length; nil if short.
  private var long: UnsafeMutableRawPointer?
  private var longCount = 0
  /// UNIX milliseconds since when the device is gone; 0: missing, or not read.
  private(set) var goneSince: Int64 = 0
  /// The retry-after in seconds; 0: missing.
  private(set) var retryAfter: Seconds = 0

  /// Reads the field retry-after (RFC 9110, 10.2.3). Only a number of seconds counts, and at most a
  /// day.
  mutating func read(retryAfter text: UnsafeRawBufferPointer) {
    var seconds: Seconds = 0
    for byte in text {
      guard byte >= 0x30, byte <= 0x39 else { return }
      seconds = min(seconds &* 10 &+ Seconds(byte &- 0x30), Self.maxRetry)
    }
    retryAfter = max(retryAfter, seconds)
  }

  private static var maxRetry: Seconds { 86_400 }

  /// Keeps as much as there is room for.
  mutating func append(_ more: UnsafeRawBufferPointer) {
    if long != nil || more.count > Self.capacity &- Int(count) { return lengthen(more) }
    for byte in more {
      bytes[Int(count)] = byte
      count &+= 1
    }
  }

  @inline(never)
  private mutating func lengthen(_ more: UnsafeRawBufferPointer) {
    if long == nil {
      guard let memory = malloc(Self.maximum) else { return }
      longCount = Int(count)
      withUnsafeBytes(of: &bytes) {
        if let base = $0.baseAddress { memory.copyMemory(from: base, byteCount: longCount) }
      }
      long = memory
    }
    let taken = min(more.count, Self.maximum &- longCount)
    if let long, let base = more.baseAddress, taken > 0 {
      (long + longCount).copyMemory(from: base, byteCount: taken)
    }
    longCount &+= taken
  }

  mutating func freeLong() {
    free(long)
    (long, longCount) = (nil, 0)
  }

  /// Reads the object, and keeps the fields that the caller gets.
  mutating func reason() -> Reason {
    let length = Int(count)
    let said: ResponseBody
    if let long {
      said = ResponseBody(UnsafeRawBufferPointer(start: long, count: longCount))
      freeLong()
    } else {
      said = withUnsafeBytes(of: &bytes) {
        ResponseBody(UnsafeRawBufferPointer(rebasing: $0[0..<length]))
      }
    }
    goneSince = said.timestamp
    count = UInt8(truncatingIfNeeded: said.text.count)
    withUnsafeMutableBytes(of: &bytes) { said.text.copy(to: $0) }
    return said.reason
  }
}

extension UnsafeMutablePointer<ResponseText> {
  func end() {
    pointee.freeLong()
    free(self)
  }

  var text: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: self, count: Int(pointee.count))
  }
}

extension UnsafeMutablePointer<OutboxEntry> {
  /// Where the response's body is kept; nil if out of memory.
  func makeBody() -> UnsafeMutablePointer<ResponseText>? {
    if let body = pointee.body { return body }
    guard let memory = malloc(MemoryLayout<ResponseText>.size) else { return nil }
    let body = memory.bindMemory(to: ResponseText.self, capacity: 1)
    body.initialize(to: ResponseText())
    pointee.body = body
    return body
  }

  func freeBody() {
    pointee.body?.end()
    pointee.body = nil
  }
}

/// A list of entries by slots, first in, first out.
struct OutboxList {
  /// One more than the slot; 0: none.
  fileprivate(set) var first: UInt32 = 0
  fileprivate(set) var last: UInt32 = 0
  var isEmpty: Bool { first == 0 }
}

extension UnsafeMutablePointer<OutboxEntry> {
  func append(_ slot: Int, to list: inout OutboxList) {
    let number = UInt32(truncatingIfNeeded: slot &+ 1)
    self[slot].next = 0
    if list.last == 0 {
      list.first = number
    } else {
      self[Int(list.last) &- 1].next = number
    }
    list.last = number
  }

  /// Takes those out of a list that are not sent again.
  func removeCancelled(from list: inout OutboxList) {
    var rest = list
    list = OutboxList()
    while let slot = takeFirst(of: &rest) {
      if !self[slot].isCancelled { append(slot, to: &list) }
    }
  }

  func prepend(_ slot: Int, to list: inout OutboxList) {
    let number = UInt32(truncatingIfNeeded: slot &+ 1)
    self[slot].next = list.first
    list.first = number
    if list.last == 0 { list.last = number }
  }

  /// Puts all of one list before those of the other.
  func put(_ list: OutboxList, before others: inout OutboxList) {
    guard list.first != 0 else { return }
    self[Int(list.last) &- 1].next = others.first
    others.first = list.first
    if others.last == 0 { others.last = list.last }
  }

  func takeFirst(of list: inout OutboxList) -> Int? {
    guard list.first != 0 else { return nil }
    let slot = Int(list.first) &- 1
    list.first = self[slot].next
    if list.first == 0 { list.last = 0 }
    self[slot].next = 0
    return slot
  }
}
