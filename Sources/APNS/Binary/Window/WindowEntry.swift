/// The window's state of a notification besides its frame.
struct WindowEntry {
  var userData: UnsafeMutableRawPointer?
  var identifier: UInt32
  /// Before there is an outcome: where the frame starts in the ring, which has less than 2^30
  /// bytes, and in the highest bits whether it was cancelled and returned. Afterwards: the same
  /// without these bits for accepted, so that it need not be written, or the outcome with the
  /// highest bit set.
  private var word: UInt32

  init(userData: UnsafeMutableRawPointer?, identifier: UInt32, place: Int) {
    self.userData = userData
    self.identifier = identifier
    word = UInt32(truncatingIfNeeded: place)
  }

  private static var cancelled: UInt32 { 1 << 31 }
  private static var told: UInt32 { 1 << 30 }
  private static var ended: UInt32 { 1 << 31 }

  var place: Int { Int(word & ~(Self.cancelled | Self.told)) }

  /// It has no event: a push timed out and has returned that.
  var isTold: Bool { word & Self.told != 0 }
  mutating func noteTold() { word |= Self.told }

  /// It is not written again.
  var isCancelled: Bool {
    get { word & Self.cancelled != 0 }
    set { word = newValue ? word | Self.cancelled : word & ~Self.cancelled }
  }

  /// Its frame starts `size` bytes further ahead.
  mutating func move(by size: Int) { word &-= UInt32(truncatingIfNeeded: size) }

  /// Only valid with an outcome.
  var isAccepted: Bool { word & Self.ended == 0 }
  var outcome: Outcome {
    get { isAccepted ? .accepted : Outcome(word: word & ~Self.ended) }
    set { word = newValue == .accepted ? 0 : newValue.word | Self.ended }
  }
}
