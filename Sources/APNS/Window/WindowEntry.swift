/// What the window keeps of a notification besides its frame.
struct WindowEntry {
  var userData: UnsafeMutableRawPointer?
  var identifier: UInt32
  /// Before there is an outcome: where the frame starts in the ring. Afterwards: the outcome.
  var word: UInt32

  var place: Int { Int(word) }
}
