/// Something that a gateway does unasked, at a time or after some bytes: the earlier of the two.
enum FaultPlan {
  case serve
  case end
  case shutDown
  case nameStranger
  case talkNoise
  case nameNobody(UInt8)
  /// From then on it takes everything and sends nothing.
  case vanish
}

/// The effect of a packet once the session has read all of it.
enum Word {
  case nothing
  /// The gateway accepted this many notifications and rejected the next one.
  case rejects(after: Int, status: UInt8)
  /// The gateway accepted this many.
  case proves(Int)
  /// The packet answers a sentinel with an identifier of 0. If the status can mean nothing
  /// else, the gateway accepted this many.
  case answers(Int, status: UInt8)
}

/// Both ends of one connection.
final class BinaryLink: Link {
  // The gateway's state.
  var faultPlan = FaultPlan.serve
  var faultPlanAt = Int64.max
  var faultPlanAfter = Int.max
  /// Bytes of the frame that is not complete yet.
  let stream: UnsafeMutableRawPointer
  var streamCount = 0
  /// Bytes of complete frames.
  var offset = 0
  /// No frame may begin at this byte or after it.
  var heldFrom = Int.max
  /// When the first byte was written; -1: none was written.
  var firstWrite: Int64 = -1
  /// Calls that did not write a sentinel although one was due, and when the last of them was made.
  var overdueCalls = 0
  var overdueAt: Int64 = 0
  /// Notifications written in full, and the newest of them.
  var frames = 0
  var lastNumber = -1
  var hasSentinel = false
  /// Notifications accepted on this connection, and the identifier of the last one.
  var accepted = 0
  var lastAccepted: UInt32?

  // Bytes from the gateway.
  var inbox = InlineArray<16, UInt8>(repeating: 0)
  var arrivals = InlineArray<16, Int64>(repeating: 0)
  var inboxCount = 0
  var inboxRead = 0
  var word = Word.nothing
  var hasWord = false
  var namesStranger = false

  static let room = 64 << 10

  /// `stream` has room for one line's bytes.
  init(line: Int, stream: UnsafeMutableRawPointer) {
    self.stream = stream
    super.init(line: line)
  }

  override var nextDeed: Int64 { faultPlanAt }

  override func hasUnread(since time: Int64) -> Bool {
    super.hasUnread(since: time) || nextArrival(time) <= time
  }

  override func nextArrival(_ clock: Int64) -> Int64 {
    inboxRead < inboxCount ? arrivals[inboxRead] : .max
  }
}
