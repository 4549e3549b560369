import CAPNS
import CSystem

/// Sends channel management requests. It is an HTTP/2 session with one request at a time, and keeps
/// its response whole.
///
/// A call begins a request, works until it is resolved, and returns the result. If one call's time
/// is not enough, the same call made again continues.
struct ChannelSession<Net: Network & ~Copyable, Tokens: TokenSource & ~Copyable>: ~Copyable {
  private var session: HTTP2Session<Net, Tokens>
  /// The app, as in paths.
  private let app: ChannelText
  private let whole: UnsafeMutablePointer<WholeResponse>
  private let waitMax: Nanoseconds
  /// The pending operation, its channel, and its deadline.
  private var pending: ChannelOperation?
  private var pendingChannel = ChannelText()
  private var due: Nanoseconds = 0
  /// The number of requests that timed out before it.
  private var timedOutBefore: UInt64 = 0
  private(set) var last = LastChannelResponse()
  private var list: ChannelList?
  private var listed = ChannelText()

  /// A connection that was silent for longer may have been cut without notice.
  private static var maxSilence: Nanoseconds { 60_000_000_000 }

  /// `app` has been checked. The session has a window for a request or two.
  init(
    _ session: consuming HTTP2Session<Net, Tokens>, app: UnsafeRawBufferPointer,
    waitMax: Nanoseconds
  ) throws(Failure) {
    guard let whole = WholeResponse.make() else { throw .outOfMemory }
    self.whole = whole
    self.session = session
    self.waitMax = waitMax
    var text = ChannelText()
    _ = text.read(app)
    self.app = text
    self.session.outbox.pointee.whole = whole
  }

  deinit { WholeResponse.end(whole) }

  // MARK: Requests

  /// Creates a channel, and writes its text to `target`.
  mutating func create(
    storesLatest: Bool, to target: UnsafeMutableRawBufferPointer
  ) throws(Failure) {
    let none: StaticString = "{\"message-storage-policy\":0,\"push-type\":\"LiveActivity\"}"
    let latest: StaticString = "{\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}"
    try ask(.create, nil, UnsafeRawBufferPointer(storesLatest ? latest : none))
    var text = ChannelText()
    guard text.read(whole.pointee.channelBytes), text.count < target.count else {
      throw Failure(APNS_ERR_IN_DOUBT, cause: APNS_CAUSE_PROTOCOL) {
        $0.append("the service answered ")
        $0.append(UInt32(last.status))
        $0.append(" without an apns-channel-id: a channel may have been made, list them")
      }
    }
    text.copy(to: target)
  }

  mutating func describe(_ channel: UnsafeRawBufferPointer) throws(Failure) -> ChannelDescription {
    try ask(.describe, channel)
    guard let description = ChannelDescription(whole.pointee.bodyBytes) else {
      throw isNotUnderstood("a channel's description")
    }
    return description
  }

  mutating func delete(_ channel: UnsafeRawBufferPointer) throws(Failure) {
    try ask(.delete, channel)
  }

  mutating func listAll() throws(Failure) {
    try ask(.list, nil)
    list = ChannelList(whole.pointee.bodyBytes)
    if list == nil { throw isNotUnderstood("a list of channels") }
  }

  /// The next channel of the list, in place: followed by a NUL, and there until the next call.
  mutating func next(_ body: (borrowing ChannelText) -> Void) -> Bool {
    guard list?.next(into: &listed) == true else { return false }
    body(listed)
    return true
  }

  private func isNotUnderstood(_ wanted: StaticString) -> Failure {
    Failure(APNS_ERR_PROTOCOL) {
      $0.append("the service's answer is not ")
      $0.append(wanted)
      $0.append(": ")
      session.network.append(to: &$0)
    }
  }

  // MARK: One request

  /// Begins a request or continues it, and returns when it was answered with success.
  @inline(never)
  private mutating func ask(
    _ operation: ChannelOperation, _ channel: UnsafeRawBufferPointer?,
    _ body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws(Failure) {
    var text = ChannelText()
    if let channel { _ = text.read(channel) }
    if let pending {
      guard pending == operation, text.isSame(pendingChannel) else {
        throw Failure(APNS_ERR_ARGUMENT) {
          $0.append("another request is under way, to ")
          $0.append(pending.words)
          $0.append(": repeat that call, or cancel it")
        }
      }
    } else {
      try begin(operation, text, body)
    }
    guard try work() else { throw .notYet }
    let outcome = session.outbox.pointee.takeOutcome()
    last.note(outcome?.response)
    pending = nil
    rest()
    switch outcome?.outcome {
    case .accepted: return
    case .rejected: throw refusal(of: operation)
    case .unknown, .cancelled, .expired, nil: throw unanswered(operation)
    }
  }

  private mutating func begin(
    _ operation: ChannelOperation, _ channel: ChannelText, _ body: UnsafeRawBufferPointer
  ) throws(Failure) {
    list = nil
    last = LastChannelResponse()
    whole.pointee.begin(isOnce: operation == .create)
    session.lookAtConnections(silentFor: Self.maxSilence)
    session.reconnects.forgetReason()
    var failure: Failure?
    channel.withBytes { channel in
      app.withBytes { app in
        do throws(Failure) {
          try session.put(HTTP2Request(operation, channel: channel, app: app), body)
        } catch {
          failure = error
        }
      }
    }
    if let failure { throw failure }
    (pending, pendingChannel) = (operation, channel)
    timedOutBefore = session.outbox.pointee.metrics.pointee.timeouts
    due = session.network.now &+ session.options.connectTimeout &+ session.options.answerTimeout
  }

  /// Works until the request is resolved; false if this call may wait no longer.
  private mutating func work() throws(Failure) -> Bool {
    let began = session.network.now
    let limit = waitMax == .max ? due : min(due, began &+ waitMax)
    do throws(Failure) {
      if session.options.neverWaits {
        session.look()
        session.standing.isSpent = false
      }
      if try session.run(until: .ends, by: limit) { return true }
      if let failure = session.standing.unreportedFailure.failure {
        session.standing.unreportedFailure.forget()
        throw failure
      }
    } catch {
      let isOnlyThisCall =
        error.status == APNS_ERR_TIMEOUT && limit < due && session.network.now >= limit
      if !isOnlyThisCall { throw end(after: error) }
      return false
    }
    if session.network.now >= due { throw end(after: isLate) }
    return false
  }

  private var isLate: Failure {
    Failure(APNS_ERR_TIMEOUT) {
      $0.append("no answer came in time from ")
      session.network.append(to: &$0)
    }
  }

  /// Abandons the request and returns the failure to throw: APNS_ERR_IN_DOUBT if the channel may
  /// have been created.
  private mutating func end(after failure: Failure) -> Failure {
    let isInDoubt = pending == .create && session.outbox.pointee.isAnyInFlight
    cancel()
    return isInDoubt ? inDoubt(failure) : failure
  }

  /// Abandons the pending request, with its connection.
  mutating func cancel() {
    guard pending != nil else { return }
    pending = nil
    session.giveUp()
    rest()
  }

  /// Disarms the event-loop descriptor while no request is pending.
  private mutating func rest() {
    guard session.options.neverWaits else { return }
    session.look()
    session.network.arm(until: .max)
  }

  // MARK: Results

  private func inDoubt(_ failure: Failure) -> Failure {
    var longer = failure.saying { $0.append("; a channel may have been made: list them") }
    longer.status = APNS_ERR_IN_DOUBT
    return longer
  }

  private func refusal(of operation: ChannelOperation) -> Failure {
    Failure(APNS_ERR_REJECTED) {
      $0.append("the service refused to ")
      $0.append(operation.words)
      $0.append(": ")
      $0.append(UInt32(last.status))
      if last.text.count > 0 {
        $0.append(" ")
        last.text.append(to: &$0)
      }
      if last.retryAfter > 0 {
        $0.append(", try again in ")
        $0.append(last.retryAfter)
        $0.append(" s")
      }
    }
  }

  /// The request ended without a whole answer.
  private func unanswered(_ operation: ChannelOperation) -> Failure {
    let isLong = whole.pointee.isTooLong
    if isLong || whole.pointee.ranOut {
      let failure =
        isLong
        ? Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_FLOOD) {
          $0.append("the service's answer has more than ")
          $0.append(WholeResponse.maximum >> 20)
          $0.append(" MiB: ")
          session.network.append(to: &$0)
        } : .outOfMemory
      return operation == .create ? inDoubt(failure) : failure
    }
    let failure =
      session.reconnects.reason.failure
      ?? (session.outbox.pointee.metrics.pointee.timeouts > timedOutBefore ? isLate : isEnded)
    return operation == .create ? inDoubt(failure) : failure
  }

  private var isEnded: Failure {
    Failure(APNS_ERR_NETWORK) {
      $0.append("the service ended the connection or the request without an answer: ")
      session.network.append(to: &$0)
    }
  }

  // MARK: In the application's event loop, and in a child of its process

  var descriptor: CInt { session.descriptor }

  /// The latest time to continue the pending request; `max` without one.
  var callDue: Nanoseconds { pending == nil ? .max : session.due }

  mutating func silence() { session.silence() }
}

/// The response to the last request.
struct LastChannelResponse {
  private(set) var status: UInt16 = 0
  private(set) var reason: UInt8 = 0
  private(set) var retryAfter: Seconds = 0
  private(set) var id: (UInt64, UInt64) = (0, 0)
  private(set) var text = ReasonText()

  mutating func note(_ response: ServiceResponse?) {
    self = LastChannelResponse()
    guard let response else { return }
    status = response.status
    reason = response.reason
    retryAfter = response.retryAfter
    id = response.id
    text = ReasonText(plain: response.reasonText)
  }
}
