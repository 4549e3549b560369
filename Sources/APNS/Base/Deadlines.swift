/// The deadline of one notification, stored in 32 bits as ms of the monotonic clock; `Deadlines` knows
/// the whole time.
struct ShortDeadline {
  /// 0 is no deadline; 1 is the deadline of a notification that has its outcome.
  fileprivate let milliseconds: UInt32

  static var none: ShortDeadline { ShortDeadline(milliseconds: 0) }
  /// The deadline of a notification that is kept after its outcome.
  static var over: ShortDeadline { ShortDeadline(milliseconds: 1) }
  var isOver: Bool { milliseconds == 1 }

  private init(milliseconds: UInt32) { self.milliseconds = milliseconds }

  /// `max`: none.
  fileprivate init(_ time: Nanoseconds) {
    // Rounded up, because nothing ends before its time.
    milliseconds =
      time == .max ? 0 : max(UInt32(truncatingIfNeeded: (time &+ 999_999) / 1_000_000), 2)
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
  /// In ms: all are within 49 days after it, however long ago that is.
  private var start: Int64 = 0
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
    if first == .max { begin(before: due) }
    let time = time(of: kept)
    if time < last { areSorted = false }
    last = time
    first = min(first, time)
  }

  /// All have been checked at that time, or if they are sorted, the first that is not due.
  mutating func looked(first: Nanoseconds, at now: Nanoseconds) {
    self.first = first
    (added, kept) = (.max, .none)
    // Notifications that are due and could not end yet stay within the 49 days.
    if first > now, first < .max { begin(before: first) }
  }

  /// No deadline is further away than half of the 49 days.
  private mutating func begin(before time: Nanoseconds) {
    start = time / 1_000_000 &- Int64(Int32.max)
  }

  /// The whole time; `max`: none.
  func time(of deadline: ShortDeadline) -> Nanoseconds {
    guard deadline.milliseconds > 1 else { return .max }
    let since = deadline.milliseconds &- UInt32(truncatingIfNeeded: start)
    return (start &+ Int64(since)) &* 1_000_000
  }

  mutating func forget() { self = Deadlines() }
}
