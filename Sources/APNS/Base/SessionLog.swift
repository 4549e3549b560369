import CAPNS
import CSystem

/// A log line's fields, except its text.
struct LogLine {
  let kind: apns_log_kind_t
  let level: apns_log_level_t
  /// 0: about no connection.
  var connection: UInt32 = 0
  var cause = APNS_CAUSE_NONE
  var count = 0
  var milliseconds = 0
  var isResumed = false

  init(_ kind: apns_log_kind_t, _ level: apns_log_level_t, on connection: UInt32 = 0) {
    self.kind = kind
    self.level = level
    self.connection = connection
  }
}

/// Reports a session's work to the application's log. A line needs no memory. Lines of a frequent
/// kind are dropped and counted, so that no peer can flood a log. A session without a log has no
/// `SessionLog`, and makes no texts.
struct SessionLog {
  private let callback: apns_log_t
  private let context: UnsafeMutableRawPointer?
  private let level: UInt32
  /// The timestamp of lines; a module without a clock uses the time that a session set.
  fileprivate var now: Nanoseconds = 0
  private var quotas = InlineArray<19, LineQuota>(repeating: LineQuota())
  /// The line that is being made.
  private var what = LogLine(APNS_LOG_KIND_CLOSED, APNS_LOG_INFO)
  var words = Message()
  /// Each ends in NUL.
  private var peer = InlineArray<240, UInt8>(repeating: 0)
  private var line = InlineArray<640, UInt8>(repeating: 0)

  fileprivate init(_ callback: @escaping apns_log_t, _ target: LogTarget, peer: Message) {
    self.callback = callback
    context = target.context
    level = target.level
    withUnsafeMutableBytes(of: &self.peer) { peer.copy(to: $0) }
  }

  func says(_ level: apns_log_level_t) -> Bool { level.rawValue <= self.level }

  /// Whether the line may be logged now.
  @inline(never)
  private mutating func takes(_ line: LogLine) -> Bool {
    guard says(line.level) else { return false }
    let index = Int(line.kind.rawValue)
    return line.kind == APNS_LOG_KIND_FRAME || index < quotas.count && quotas[index].takes(at: now)
  }

  /// Starts a line. False if it may not be logged now; otherwise append its text and call `put()`.
  fileprivate mutating func begin(_ line: LogLine) -> Bool {
    guard takes(line) else { return false }
    what = line
    words = Message()
    if line.connection != 0 {
      words.append("connection ")
      words.append(line.connection)
      words.append(": ")
    }
    return true
  }

  fileprivate mutating func put(because failure: Failure?) {
    let leftOut = quotas[min(Int(what.kind.rawValue), quotas.count &- 1)].report()
    var length = 0
    append(to: &length)
    if let failure {
      what.cause = failure.cause
      words = Message()
      words.append(": ")
      failure.append(to: &words)
      append(to: &length)
    }
    if leftOut > 0 {
      words = Message()
      words.append(" (")
      words.append(leftOut)
      words.append(" such lines were left out)")
      append(to: &length)
    }
    var record = apns_log_record_t()
    record.size = MemoryLayout<apns_log_record_t>.size
    record.level = Int32(truncatingIfNeeded: what.level.rawValue)
    record.kind = Int32(truncatingIfNeeded: what.kind.rawValue)
    record.cause = Int32(truncatingIfNeeded: what.cause.rawValue)
    record.connection = what.connection
    record.count = UInt64(what.count.magnitude)
    record.milliseconds = UInt32(clamping: what.milliseconds)
    record.left_out = leftOut
    record.resumed = what.isResumed ? 1 : 0
    withUnsafeBytes(of: &peer) { peer in
      withUnsafeBytes(of: &line) { line in
        record.peer = peer.baseAddress?.assumingMemoryBound(to: CChar.self)
        record.line = line.baseAddress?.assumingMemoryBound(to: CChar.self)
        callback(&record, context)
      }
    }
  }

  /// Appends the text to the line, as far as it has room.
  private mutating func append(to length: inout Int) {
    let words = self.words
    withUnsafeMutableBytes(of: &line) {
      words.copy(to: UnsafeMutableRawBufferPointer(rebasing: $0[min(length, $0.count &- 1)...]))
      length = min(length &+ words.count, $0.count &- 1)
    }
  }
}

/// The target of a session's log lines, from its options.
struct LogTarget {
  let callback: apns_log_t?
  let context: UnsafeMutableRawPointer?
  let level: UInt32

  /// Nil without a log.
  @inline(never)
  func open(
    _ describePeer: (inout Message) -> Void
  ) throws(Failure) -> UnsafeMutablePointer<SessionLog>? {
    guard let callback else { return nil }
    guard let memory = malloc(MemoryLayout<SessionLog>.size) else { throw .outOfMemory }
    let log = memory.bindMemory(to: SessionLog.self, capacity: 1)
    var peer = Message()
    describePeer(&peer)
    log.initialize(to: SessionLog(callback, self, peer: peer))
    return log
  }
}

/// How often a kind of line is logged: some immediately, and then one after each interval.
private struct LineQuota {
  private static let interval: Nanoseconds = 10_000_000_000
  private static let atOnce: Int64 = 5

  /// When all may be logged immediately again.
  private var wholeAt: Nanoseconds = 0
  private var leftOut: UInt32 = 0

  mutating func takes(at now: Nanoseconds) -> Bool {
    if now < wholeAt &- Self.interval &* (Self.atOnce &- 1) {
      leftOut = leftOut == .max ? leftOut : leftOut &+ 1
      return false
    }
    wholeAt = max(wholeAt, now) &+ Self.interval
    return true
  }

  /// The number of dropped lines since a line of the kind was last logged.
  mutating func report() -> UInt32 {
    defer { leftOut = 0 }
    return leftOut
  }
}

extension UnsafeMutablePointer<SessionLog> {
  /// Sets the timestamp of the lines that follow.
  @inline(__always)
  func at(_ now: Nanoseconds) -> Self {
    pointee.now = now
    return self
  }

  /// As above. No closure: the optimizer would make a copy of all this for every line.
  @inline(never)
  func begin(_ line: LogLine) -> Bool { pointee.begin(line) }

  /// The line ends in the failure's words, and its cause is the failure's.
  @inline(never)
  func put(because failure: Failure? = nil) { pointee.put(because: failure) }

  func end() { free(self) }
}

extension Message {
  /// Appends the beginning of a device token, which is enough to find it again.
  @inline(never)
  mutating func append(token: UnsafeRawBufferPointer) {
    for index in 0..<Swift.min(token.count, 4) { append(hex: token[index]) }
    if token.count > 4 { append("\u{2026}") }
  }
}
