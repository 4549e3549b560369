import CAPNS

/// A session over HTTP/2 and a server with arbitrary responses: a script of steps of caller and
/// server, a byte per step followed by its arguments. Every notification has exactly one outcome
/// and its request arrives unchanged, with any input from the server.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHTTP2(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let server = HostileServer(UnsafeRawBufferPointer(start: data, count: size))
  let head = server.take()
  guard let provider = FuzzedProvider(server, head) else { return 0 }
  while server.hasMore, provider.taken.count < 200 { provider.step() }
  provider.close()
  return 0
}

/// The session's caller: sends, reads outcomes, and compares them with what it sent.
private final class FuzzedProvider {
  private let server: HostileServer
  private let reporting: Reporting
  private var session: UnsafeMutablePointer<HTTP2Session<FuzzNetwork, ProviderToken>>
  /// The identifiers of queued notifications, in order; and those with an outcome.
  private(set) var taken: [UInt32] = []
  private var ended: Set<UInt32> = []
  private var told = (accepted: 0, rejected: 0, unknown: 0)

  init?(_ server: HostileServer, _ head: UInt8) {
    self.server = server
    reporting = head & 1 == 0 ? .failures : head & 16 == 0 ? .each : .all
    var given = apns_session_options_t()
    given.protocol = Int32(bitPattern: APNS_PROTOCOL_HTTP2.rawValue)
    given.outcomes = head & 1 == 0 ? 2 : head & 16 == 0 ? 1 : 0
    if head & 2 != 0 { given.delivery = Int32(bitPattern: APNS_DELIVERY_AT_MOST_ONCE.rawValue) }
    given.connections = head & 4 != 0 ? 2 : 1
    var tuning = apns_tuning_t()
    tuning.payload_max = 2048
    given.window_bytes = head & 8 != 0 ? 32 << 10 : 1 << 20
    guard let options = try? SessionOptions(given, apns_binary_options_t(), tuning),
      let defaults = try? RequestDefaults.make(given, to: "service.example"),
      let made = try? HTTP2Session.make(
        options, defaults: defaults, tokens: nil as ProviderToken?,
        network: FuzzNetwork(server: server))
    else { return nil }
    session = .allocate(capacity: 1)
    session.initialize(to: made)
  }

  deinit {
    session.deinitialize(count: 1)
    session.deallocate()
  }

  func step() {
    switch server.peek() & 15 {
    case 0: send()
    case 1: takeOutcomes(milliseconds: server.takeTimed())
    case 2:
      let time = server.takeTimed()
      try? session.pointee.run(until: .ends, by: session.pointee.deadline(milliseconds: time))
    case 3:
      _ = server.take()
      try? session.pointee.flush()
    default: server.play()
    }
    check()
  }

  /// Sends a notification with its number in token and payload.
  private func send() {
    let waits = server.take() & 0x80 == 0
    let length = Int(server.take()) * 8 + 8
    let serial = server.requests.count
    let token: [UInt8] = [UInt8(serial & 0xFF), UInt8(serial >> 8 & 0xFF), 0xA5]
    let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ serial) }
    var identifier: UInt32?
    token.withUnsafeBytes { token in
      payload.withUnsafeBytes { payload in
        var given = apns_notification_t()
        given.token = token.baseAddress
        given.token_length = token.count
        // Without it the payload would be read for its type.
        given.push_type = UInt8(APNS_PUSH_TYPE_ALERT.rawValue)
        guard
          let push = try? session.pointee.notification(
            &given, payload: payload, payloadCount: payload.count, isPassed: false)
        else { return require(false, "the notification is valid") }
        server.requests.append(Request(token: Array(token), payload: Array(payload)))
        identifier = try? session.pointee.take(
          push, payloadCount: payload.count, deadline: 0, userData: nil
        ) { _ in payload }
      }
    }
    guard let identifier else {
      server.requests.removeLast()
      return
    }
    require(identifier != 0 && !taken.contains(identifier), "an identifier is used once")
    taken.append(identifier)
    if waits { try? session.pointee.write(all: true) }
  }

  private func takeOutcomes(milliseconds: Int32) {
    while let outcome = (try? session.pointee.nextOutcome(milliseconds: milliseconds)) ?? nil {
      require(taken.contains(outcome.identifier), "an outcome is for a queued notification")
      require(ended.insert(outcome.identifier).inserted, "a notification has one outcome")
      let answer = outcome.response
      let (status, reason) = (answer?.status ?? 0, answer?.reason ?? 0)
      switch outcome.outcome {
      case .accepted:
        told.accepted += 1
        require(reporting != .failures, "an accepted event only if the options ask for it")
        require(status == 200 && reason == 0, "accepted is what was answered by 200")
      case .rejected:
        told.rejected += 1
        require(status > 200, "rejected by an answer")
        require(reason != 0, "and for a reason")
      case .unknown:
        told.unknown += 1
        require(
          status != 200 && (status == 0) == (reason == 0),
          "an unknown outcome has no response, or a deferral")
      case .expired: require(answer == nil, "what was not sent has no answer")
      case .cancelled: require(false, "nothing is cancelled")
      }
      if answer != nil, outcome.outcome != .unknown {
        let serial = taken.firstIndex(of: outcome.identifier) ?? -1
        require(
          server.answersUnheard || server.heard.contains(serial),
          "the request arrived before the answer")
      }
      if let answer { checkTexts(answer) }
    }
  }

  private func checkTexts(_ answer: ServiceResponse) {
    require(answer.goneSince >= 0, "time is not before 1970")
    let text = Array(answer.reasonText)
    require(text.count < ReasonText.capacity, "a NUL fits after the reason")
    require(String(validating: text, as: UTF8.self) != nil, "a reason is UTF-8")
    require(text.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a reason is one line")
  }

  /// The conditions that hold at any time.
  private func check() {
    var stats = apns_session_stats_t()
    session.pointee.count(into: &stats)
    require(stats.taken == taken.count, "every queued notification is counted")
    require(
      stats.taken == stats.accepted + stats.rejected + stats.unknown + stats.expired
        + stats.unresolved,
      "each is in exactly one count")
    require(stats.in_flight <= stats.unresolved, "what is in flight has no end")
    require(
      stats.events + UInt64(ended.count) + stats.unresolved + stats.forgotten
        + (reporting == .failures ? stats.accepted : 0) == stats.taken,
      "each waits for its end, to be taken, or was")
    require((stats.unresolved == 0) == (stats.first_unresolved == 0), "the first is one of them")
    require(stats.unresolved > 0 || stats.window == 0, "what has its end takes no room")
  }

  /// Everything has its end then, and it can be taken.
  func close() {
    server.isOver = true
    session.pointee.close(by: session.pointee.deadline(milliseconds: 2000))
    check()
    takeOutcomes(milliseconds: 0)
    check()
    var stats = apns_session_stats_t()
    session.pointee.count(into: &stats)
    require(stats.unresolved == 0 && stats.events == 0, "at the end each has an outcome")
    require(
      stats.rejected == told.rejected && stats.unknown == told.unknown,
      "the counts match the events")
    if reporting != .failures {
      let forgotten = Int(stats.forgotten)
      require(
        reporting == .all || forgotten == 0, "no outcome gave way unless the options allow it")
      require(
        ended.count + forgotten == taken.count
          && Int(stats.accepted) == Int(told.accepted) + forgotten, "each had an event or gave way")
    }
  }
}
