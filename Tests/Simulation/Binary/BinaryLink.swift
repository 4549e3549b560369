/// What a gateway does out of itself, by a time or a number of bytes, whichever is first.
enum Whim {
  case serve
  case end
  case shutDown
  case nameStranger
  case talkNoise
  case nameNobody(UInt8)
  /// It takes everything from then on and says nothing.
  case vanish
}

/// What a packet settles once all of it was read.
enum Word {
  case nothing
  /// So many notifications were accepted, and the next one rejected.
  case rejects(after: Int, status: UInt8)
  /// So many were accepted.
  case proves(Int)
  /// The answer to a sentinel by an identifier of 0: so many were accepted, where the
  /// status can mean nothing else.
  case answers(Int, status: UInt8)
}

/// One connection, both ends of it.
final class BinaryLink: Link {
  // The gateway.
  var whim = Whim.serve
  var whimAt = Int64.max
  var whimAfter = Int.max
  /// Bytes of the frame that is not all there.
  let stream: UnsafeMutableRawPointer
  var streamCount = 0
  /// Bytes of whole frames.
  var offset = 0
  /// When the first byte was written; -1: none was.
  var firstWrite: Int64 = -1
  /// Calls that left it without the sentinel that was due, and when the last one was.
  var overdueCalls = 0
  var overdueAt: Int64 = 0
  /// Notifications written whole, and the newest.
  var frames = 0
  var lastNumber = -1
  var hasSentinel = false
  /// Accepted here, and the last one's identifier.
  var accepted = 0
  var lastAccepted: UInt32?

  // From the gateway.
  var inbox = InlineArray<16, UInt8>(repeating: 0)
  var arrivals = InlineArray<16, Int64>(repeating: 0)
  var inboxCount = 0
  var inboxRead = 0
  var word = Word.nothing
  var hasWord = false
  var namesStranger = false

  static let room = 64 << 10

  /// `stream` has room for so many bytes.
  init(line: Int, stream: UnsafeMutableRawPointer) {
    self.stream = stream
    super.init(line: line)
  }

  override var nextDeed: Int64 { whimAt }

  override func nextArrival(_ clock: Int64) -> Int64 {
    inboxRead < inboxCount ? arrivals[inboxRead] : .max
  }
}
