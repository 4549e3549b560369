import CAPNS
import CSystem

/// The feedback service's list, read tuple by tuple.
struct Feedback: ~Copyable {
  private let endpoint: Endpoint
  private let origin = ProcessOrigin()
  private let readTimeout: Int64
  private var connection: TLSConnection
  private let buffer: UnsafeMutableRawBufferPointer
  /// What has been read and not taken.
  private var start = 0
  private var end = 0
  private var tuples = 0
  private var final: Final?

  /// How the list ended; the same answer for good.
  private enum Final {
    case done
    case failed(Failure)
  }

  static func open(
    _ endpoint: consuming Endpoint, trust: borrowing TrustContext, connectTimeout: Int64,
    readTimeout: Int64
  ) throws(Failure) -> Feedback {
    let connection = try TLSConnection.open(
      to: endpoint, trusting: trust, by: Deadline(milliseconds: connectTimeout))
    // Room for the longest tuple behind a record's worth.
    let capacity = FeedbackTuple.longest &+ 16 << 10
    guard let memory = malloc(capacity) else { throw .outOfMemory }
    return Feedback(
      endpoint: endpoint, readTimeout: readTimeout, connection: connection,
      buffer: UnsafeMutableRawBufferPointer(start: memory, count: capacity))
  }

  private init(
    endpoint: consuming Endpoint, readTimeout: Int64, connection: consuming TLSConnection,
    buffer: UnsafeMutableRawBufferPointer
  ) {
    self.endpoint = endpoint
    self.readTimeout = readTimeout
    self.connection = connection
    self.buffer = buffer
  }

  deinit { free(buffer.baseAddress) }

  var isForeign: Bool { !origin.isHere }

  /// The connection is the parent's: not a byte may be said on it from here.
  mutating func leaveToParent() { connection.silence() }

  /// The next tuple, its token valid until the next call; nil when the list has ended.
  mutating func next() throws(Failure) -> FeedbackTuple? {
    while true {
      let unread = UnsafeRawBufferPointer(rebasing: buffer[start..<end])
      do throws(WireError) {
        if let tuple = try FeedbackTuple.decode(unread), let size = tuple.size {
          start &+= size
          tuples &+= 1
          return tuple
        }
      } catch {
        finish(
          Failure(APNS_ERR_PROTOCOL) {
            $0.append("a feedback tuple without a token, after ")
            $0.append(tuples)
            $0.append(" whole ones")
          })
      }
      switch final {
      case .done: return nil
      case .failed(let failure): throw failure
      case nil: try fill()
      }
    }
  }

  private mutating func fill() throws(Failure) {
    if start > 0, let base = buffer.baseAddress {
      memmove(base, base + start, end &- start)
      (start, end) = (0, end &- start)
    }
    switch connection.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[end...])) {
    case .bytes(let count): end &+= count
    case .nothing:
      if connection.wait(for: .reading, Deadline(milliseconds: readTimeout)) == nil {
        throw Failure(APNS_ERR_TIMEOUT) {
          $0.append("the feedback service said nothing for ")
          $0.append(Int(readTimeout))
          $0.append(" ms: ")
          endpoint.append(to: &$0)
        }
      }
    case .end where end == 0: final = .done
    case .end: finish(nil)
    case .broken: finish(connection.failure())
    }
  }

  /// The list broke off, by `failure` or with half a tuple left.
  private mutating func finish(_ failure: Failure?) {
    guard final == nil else { return }
    let left = end &- start
    if left == 0 || failure?.status == APNS_ERR_PROTOCOL, let failure {
      final = .failed(failure)
      (start, end) = (0, 0)
      return
    }
    final = .failed(
      Failure(APNS_ERR_PROTOCOL) {
        $0.append("the feedback list broke off ")
        $0.append(left)
        $0.append(" bytes into a tuple, after ")
        $0.append(tuples)
        $0.append(" whole ones")
      })
    (start, end) = (0, 0)
  }
}
