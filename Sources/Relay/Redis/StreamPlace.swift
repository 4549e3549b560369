/// The number of an entry in its lane's stream, such as 1700000000000-1, with the lane's mark before
/// it.
struct StreamPlace: Hashable {
  private(set) var lane = Lane.normal
  /// When it was added, in Redis' UNIX milliseconds.
  private(set) var time: UInt64
  private var count: UInt64

  /// nil if the text is not such a number.
  init?(_ text: UnsafeRawBufferPointer) {
    (time, count) = (0, 0)
    var text = text[...]
    switch text.first {
    case UInt8(ascii: "u"): lane = .urgent
    case UInt8(ascii: "b"): lane = .bulk
    default: break
    }
    if lane != .normal { text.removeFirst() }
    var isBehind = false
    for byte in text {
      if byte == UInt8(ascii: "-"), !isBehind {
        isBehind = true
        continue
      }
      guard (0x30...0x39).contains(byte) else { return nil }
      let part = isBehind ? count : time
      let (tenfold, isOver) = part.multipliedReportingOverflow(by: 10)
      let (sum, isOverToo) = tenfold.addingReportingOverflow(UInt64(byte - 0x30))
      guard !isOver, !isOverToo else { return nil }
      if isBehind { count = sum } else { time = sum }
    }
    guard isBehind else { return nil }
  }

  var text: String { "\(lane.mark)\(time)-\(count)" }
}

extension Lane {
  /// Before the numbers of its entries in Redis.
  var mark: String {
    switch self {
    case .urgent: "u"
    case .normal: ""
    case .bulk: "b"
    }
  }
}
