import CAPNS
import CSystem

/// How long a feedback list may take to read, and how long it may be.
struct FeedbackLimits {
  /// For one call, and for all calls together.
  var read: Milliseconds
  var list: Milliseconds
  var tuples: Int
  /// The longest wait of one call; `max`: as long as it has to.
  var wait: Nanoseconds
  /// For an application's event loop: calls do what can be done immediately.
  var neverWaits: Bool

  init(_ given: apns_feedback_options_t) {
    read = given.read_timeout_ms == 0 ? 10_000 : Int64(given.read_timeout_ms)
    list = given.list_timeout_ms == 0 ? 600_000 : Int64(given.list_timeout_ms)
    wait = given.peer.wait_max_ms == 0 ? .max : Int64(given.peer.wait_max_ms) &* 1_000_000
    neverWaits = given.peer.nonblocking != 0
    tuples = given.tuples_max == 0 ? 10_000_000 : Int(given.tuples_max)
  }
}

/// The feedback service's list, read tuple by tuple.
struct Feedback: ~Copyable {
  private let endpoint: Endpoint
  private let origin = ProcessOrigin()
  private let limits: FeedbackLimits
  /// How long calls have spent on reading, all together.
  private var waited: Nanoseconds = 0
  /// If calls do not wait: when the whole list must have come.
  private var listEnds: Deadline?
  /// Reads in a row that got nothing although the socket was ready.
  private var vainReads = 0
  /// A whole TLS record may come in this many pieces.
  private static let maxVainReads = 4096
  private var connection: TLSConnection
  private var isOpen = false
  /// For an application's event loop.
  private var events: EventDescriptor?
  /// The event loop called because there is something to read.
  private var isReady = false
  /// When the current tuple must be complete, over all calls that wait for it.
  private var tupleDue: Deadline?
  private let buffer: UnsafeMutableRawBufferPointer
  /// The bytes that have been read and not decoded yet.
  private var start = 0
  private var end = 0
  private var tuples = 0
  private var final: Final?

  /// How the list ended. Every later call gives the same answer.
  private enum Final {
    case done
    case failed(Failure)
  }

  static func open(
    _ endpoint: consuming Endpoint, trust: borrowing TrustContext, connectTimeout: Milliseconds,
    limits: FeedbackLimits
  ) throws(Failure) -> Feedback {
    let events = limits.neverWaits ? try EventDescriptor(connections: 1) : nil
    let connection = try TLSConnection.begin(
      to: endpoint, trusting: trust, resuming: TLSOffer(), at: nil,
      by: Deadline(milliseconds: connectTimeout))
    // Room for the content of a whole TLS record and the longest tuple.
    let capacity = FeedbackTuple.maxSize &+ 16 << 10
    guard let memory = malloc(capacity) else { throw .outOfMemory }
    var feedback = Feedback(
      endpoint: endpoint, limits: limits, connection: connection, events: events,
      buffer: UnsafeMutableRawBufferPointer(start: memory, count: capacity))
    if limits.neverWaits {
      do throws(Failure) {
        try feedback.connect()
      } catch {
        if error.status != APNS_ERR_AGAIN { throw error }
      }
    } else if limits.wait == .max {
      try feedback.connect()
    }
    return feedback
  }

  private init(
    endpoint: consuming Endpoint, limits: FeedbackLimits, connection: consuming TLSConnection,
    events: consuming EventDescriptor?, buffer: UnsafeMutableRawBufferPointer
  ) {
    self.endpoint = endpoint
    self.limits = limits
    self.connection = connection
    self.events = events
    self.buffer = buffer
  }

  deinit { free(buffer.baseAddress) }

  var isForeign: Bool { !origin.isHere }

  /// The connection belongs to the parent process: this one must not send a byte on it.
  mutating func silence() {
    connection.silence()
    events?.silence()
  }

  /// For the application's event loop; -1 if calls wait by themselves.
  var descriptor: CInt {
    switch events {
    case .some(let events): events.descriptor
    case nil: -1
    }
  }

  /// When a call that starts to wait now must return.
  private var callEnds: Deadline {
    Deadline(nanoseconds: limits.wait == .max ? .max : Deadline.now &+ limits.wait)
  }

  /// Connects, shakes hands and verifies the peer.
  mutating func connect() throws(Failure) {
    if isOpen { return }
    if case .failed(let failure) = final { throw failure }
    let ends = callEnds
    while true {
      let progress: Progress
      // Each step may close one descriptor and make another.
      events?.look { _, _ in }
      events?.forget(0)
      do throws(Failure) {
        progress = try connection.advance(endpoint)
      } catch {
        final = .failed(error)
        throw error
      }
      switch progress {
      case .open:
        isOpen = true
        return
      case .waits(let readiness, let time):
        if limits.neverWaits { throw awaitCall(for: readiness, until: time) }
        if ends.hasPassed {
          throw Failure(APNS_ERR_TIMEOUT, cause: APNS_CAUSE_CONNECT_TIMEOUT) {
            $0.append("still connecting to ")
            endpoint.append(to: &$0)
          }
        }
        _ = connection.wait(for: readiness, time.earlier(ends))
      }
    }
  }

  /// Has the event loop call again when the connection is ready, or at that time.
  private mutating func awaitCall(for readiness: Readiness, until time: Deadline) -> Failure {
    events?.watch(0, connection.descriptor, for: readiness.rawValue)
    events?.arm(until: time.nanoseconds)
    return .notYet
  }

  /// The next tuple; its token is valid until the next call. Nil when the list has ended.
  mutating func next() throws(Failure) -> FeedbackTuple? {
    if !isOpen { try connect() }
    if limits.neverWaits {
      var isReady = false
      events?.look { _, _ in isReady = true }
      self.isReady = isReady
    }
    let ends = callEnds
    while true {
      let unread = UnsafeRawBufferPointer(rebasing: buffer[start..<end])
      do throws(WireError) {
        if let tuple = try FeedbackTuple.decode(unread), let size = tuple.size {
          if tuples < limits.tuples {
            start &+= size
            tuples &+= 1
            tupleDue = nil
            return tuple
          }
          breakOff(
            Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
              $0.append("the feedback list has more than the ")
              $0.append(limits.tuples)
              $0.append(" devices that tuples_max allows: ")
              endpoint.append(to: &$0)
            })
        }
      } catch {
        finish(
          Failure(APNS_ERR_PROTOCOL) {
            $0.append("the feedback list has a tuple without a token, after ")
            $0.append(tuples)
            $0.append(" complete ones")
          })
      }
      switch final {
      case .done: return nil
      case .failed(let failure): throw failure
      case nil:
        let began = Deadline.now
        defer { waited &+= Deadline.now &- began }
        try fill(by: ends)
      }
    }
  }

  /// Reads more of the list, if more arrives in time.
  private mutating func fill(by ends: Deadline) throws(Failure) {
    if start > 0, let base = buffer.baseAddress {
      memmove(base, base + start, end &- start)
      (start, end) = (0, end &- start)
    }
    switch connection.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[end...])) {
    case .bytes(let count):
      end &+= count
      vainReads = 0
    case .nothing: try awaitMore(by: ends)
    case .end where end == 0: final = .done
    case .end: finish(nil)
    case .broken: finish(connection.failure())
    }
  }

  /// Waits until more may have arrived or the call must return.
  private mutating func awaitMore(by ends: Deadline) throws(Failure) {
    let deadline = tupleDue ?? Deadline(milliseconds: limits.read)
    tupleDue = deadline
    let last = listDue
    if limits.neverWaits {
      if isReady { vainReads &+= 1 }
      isReady = false
    } else if connection.wait(for: .reading, deadline.earlier(last).earlier(ends)) != nil {
      vainReads &+= 1
    }
    if vainReads > Self.maxVainReads {
      return breakOff(
        Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
          $0.append("the feedback service keeps sending data that contains no device: ")
          endpoint.append(to: &$0)
        })
    }
    if last.hasPassed {
      return breakOff(
        Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
          $0.append("the feedback list has not ended after ")
          $0.append(Int(limits.list))
          $0.append(" ms: ")
          endpoint.append(to: &$0)
        })
    }
    guard deadline.hasPassed else {
      if limits.neverWaits { throw awaitCall(for: .reading, until: deadline.earlier(last)) }
      guard ends.hasPassed else { return }
      throw Failure(APNS_ERR_TIMEOUT) {
        $0.append("still waiting for ")
        endpoint.append(to: &$0)
      }
    }
    tupleDue = nil
    throw Failure(APNS_ERR_TIMEOUT) {
      $0.append("the feedback service sent no complete tuple for ")
      $0.append(Int(limits.read))
      $0.append(" ms: ")
      endpoint.append(to: &$0)
    }
  }

  /// When the whole list must have come. If calls wait, only their waiting counts.
  private var listDue: Deadline {
    mutating get {
      if limits.neverWaits {
        let due = listEnds ?? Deadline(milliseconds: limits.list)
        listEnds = due
        return due
      }
      return Deadline(nanoseconds: Deadline.now &+ max(limits.list &* 1_000_000 &- waited, 0))
    }
  }

  /// Stops reading the list, though it may continue.
  private mutating func breakOff(_ failure: Failure) {
    final = .failed(failure)
    (start, end) = (0, 0)
  }

  /// Ends a list that broke off with `failure` or in the middle of a tuple.
  private mutating func finish(_ failure: Failure?) {
    guard final == nil else { return }
    let left = end &- start
    if left == 0 || failure?.status == APNS_ERR_PROTOCOL, let failure {
      final = .failed(failure)
      (start, end) = (0, 0)
      return
    }
    final = .failed(
      Failure(APNS_ERR_PROTOCOL, cause: failure?.cause ?? APNS_CAUSE_CONNECTION_LOST) {
        $0.append("the feedback list broke off ")
        $0.append(left)
        $0.append(" bytes into a tuple, after ")
        $0.append(tuples)
        $0.append(" complete ones")
      })
    (start, end) = (0, 0)
  }
}
