/// What the window keeps of a notification besides its frame.
struct WindowEntry {
  var userData: UnsafeMutableRawPointer?
  var identifier: UInt32
  /// Before there is an outcome: where the frame starts in the ring. Afterwards: the outcome.
  var word: UInt32

  var place: Int { Int(word) }
}

/// An outcome that waits to be taken.
struct WaitingOutcome {
  var outcome: Outcome
  var identifier: UInt32
  var userData: UnsafeMutableRawPointer?
}

/// How a notification ended.
enum Outcome: Equatable {
  case accepted
  case rejected(status: UInt8)
  case unknown

  var word: UInt32 {
    switch self {
    case .accepted: 1 << 8
    case .rejected(let status): 2 << 8 | UInt32(status)
    case .unknown: 3 << 8
    }
  }

  init(word: UInt32) {
    switch word >> 8 {
    case 1: self = .accepted
    case 2: self = .rejected(status: UInt8(truncatingIfNeeded: word))
    default: self = .unknown
    }
  }
}
