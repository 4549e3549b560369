/// What the window keeps of a notification besides its frame.
struct WindowEntry {
  var userData: UnsafeMutableRawPointer?
  var identifier: UInt32
  /// Before there is an outcome: where the frame starts in the ring, and in the highest bit that it
  /// was cancelled. Afterwards: the outcome.
  var word: UInt32

  private static var cancelled: UInt32 { 1 << 31 }

  var place: Int { Int(word & ~Self.cancelled) }

  /// It is not written again.
  var isCancelled: Bool {
    get { word & Self.cancelled != 0 }
    set { word = newValue ? word | Self.cancelled : word & ~Self.cancelled }
  }

  /// Its frame starts so many bytes further ahead.
  mutating func move(by size: Int) { word &-= UInt32(truncatingIfNeeded: size) }
}
