/// The deadline of one notification, stored in 32 bits as ms of the monotonic clock. It can be
/// compared with times that are less than 24 days away.
struct ShortDeadline {
  /// 0 is no deadline; 1 is the deadline of a notification that has its outcome.
  private let milliseconds: UInt32

  static var none: ShortDeadline { ShortDeadline(milliseconds: 0) }
  /// The deadline of a notification that is kept after its outcome.
  static var over: ShortDeadline { ShortDeadline(milliseconds: 1) }
  var isOver: Bool { milliseconds == 1 }

  private init(milliseconds: UInt32) { self.milliseconds = milliseconds }

  /// `max`: none.
  init(_ time: Nanoseconds) {
    // Rounded up, because nothing ends before its time.
    milliseconds =
      time == .max ? 0 : max(UInt32(truncatingIfNeeded: (time &+ 999_999) / 1_000_000), 2)
  }

  /// The whole time; `max`: none.
  func time(near now: Nanoseconds) -> Nanoseconds {
    guard milliseconds > 1 else { return .max }
    let whole = now / 1_000_000
    let left = Int32(bitPattern: milliseconds &- UInt32(truncatingIfNeeded: whole))
    return (whole &+ Int64(left)) &* 1_000_000
  }
}

/// The deadlines of all unresolved notifications, in the order in which they were queued.
struct Deadlines {
  /// Nothing is due before; `max`: never. If that one was resolved earlier, a later one is the
  /// first.
  private(set) var first = Nanoseconds.max
  /// The last one taken, and whether none is sooner than one before it.
  private var last = Nanoseconds.min
  private(set) var areSorted = true
  /// The last one added, as it was given and as it is kept: those of one TLS record share theirs.
  private var added = Nanoseconds.max
  private var kept = ShortDeadline.none

  /// `max`: none.
  @inline(__always)
  mutating func add(_ due: Nanoseconds) -> ShortDeadline {
    if due != added { note(due) }
    return kept
  }

  @inline(never)
  private mutating func note(_ due: Nanoseconds) {
    (added, kept) = (due, ShortDeadline(due))
    if due == .max { return }
    let time = kept.time(near: due)
    if time < last { areSorted = false }
    last = time
    first = min(first, time)
  }

  /// All have been checked, or if they are sorted, the first that is not due.
  mutating func looked(first: Nanoseconds) {
    self.first = first
    (added, kept) = (.max, .none)
  }

  mutating func forget() { self = Deadlines() }
}
