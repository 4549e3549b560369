/// What the outbox keeps of a notification besides its request.
struct OutboxEntry {
  var userData: UnsafeMutableRawPointer?
  /// The body of the answer; from malloc, nil when there is none.
  var body: UnsafeMutablePointer<AnswerText>?
  var identifier: UInt32
  /// Where its request starts in the store.
  var place: UInt32
  /// The ones taken before and after it that have no end either, as slot plus one; 0: none.
  var older: UInt32 = 0
  var newer: UInt32 = 0
  /// The next one of the list it is in, as slot plus one; 0: none.
  var next: UInt32 = 0
  /// While it is in flight: its stream, and the number of that stream's connection.
  var stream: Int32 = 0
  var connection: UInt16 = 0
  var state = OutboxState.queued
  /// How often it was sent and the answer asked for another try.
  var tries: UInt8 = 0
  /// The status of the answer so far; 0: none yet.
  var status: UInt16 = 0
  /// The answer is complete.
  var isWhole = false
  /// The peer reset its stream by an error, or its answer is malformed.
  var isReset = false
  /// The peer ended its stream without having looked at it.
  var isRefused = false
  /// How often it was refused so while the connection took others.
  var refusals: UInt8 = 0
  /// How often it was sent and nobody knows what became of it.
  var doubts: UInt8 = 0
  /// The announced length of the answer's body plus one, 0 when none was announced; and how much of
  /// it came.
  var bodyLength: UInt32 = 0
  var bodyHeard: UInt32 = 0
  /// How many bytes of its payload the stream has taken.
  var sent: UInt16 = 0
  /// The last status of the service that asked for another try; 0: none.
  var lastStatus: UInt16 = 0
  /// Times of the monotonic clock: when it was taken, and when it was last sent.
  var takenAt: Seconds
  var sentAt: Seconds = 0
  /// The apns-id: the caller's, or the one in the answer once that is there. All zero: none.
  var id = InlineArray<16, UInt8>(repeating: 0)
  /// Which provider token it was sent with, and whether one was replaced for it.
  var tokenGeneration: UInt32 = 0
  var hasNewToken = false
  var lastReason = Reason.none
  var outcome = Outcome.unknown

  init(
    userData: UnsafeMutableRawPointer?, identifier: UInt32, place: UInt32, takenAt: Seconds
  ) {
    self.userData = userData
    self.identifier = identifier
    self.place = place
    self.takenAt = takenAt
  }

  /// Only a whole answer counts: its header fields and the end of the stream, without an error in
  /// between.
  var isAnswered: Bool { isWhole && !isReset && status >= 200 }
}

enum OutboxState: UInt8 {
  /// Waits to be sent, for the first time or again.
  case queued
  case inFlight
  /// Its stream has ended; what that means is not decided yet.
  case answered
  /// It has its outcome, which waits to be taken.
  case ended
  /// Nobody needs it any more.
  case done
}

/// The body of an answer that is not 200: a short JSON object.
struct AnswerText {
  /// More than any of Apple's reasons takes.
  static let capacity = 255
  var bytes = InlineArray<255, UInt8>(repeating: 0)
  private(set) var count: UInt8 = 0

  /// Calls `body` with the bytes.
  func read<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    var copy = bytes
    return withUnsafeBytes(of: &copy) {
      body(UnsafeRawBufferPointer(rebasing: $0[0..<Int(count)]))
    }
  }

  /// Keeps as much as there is room for.
  mutating func append(_ more: UnsafeRawBufferPointer) {
    for byte in more {
      guard Int(count) < Self.capacity else { return }
      bytes[Int(count)] = byte
      count &+= 1
    }
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

  func prepend(_ slot: Int, to list: inout OutboxList) {
    let number = UInt32(truncatingIfNeeded: slot &+ 1)
    self[slot].next = list.first
    list.first = number
    if list.last == 0 { list.last = number }
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
