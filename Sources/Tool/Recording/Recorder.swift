import CAPNS
import Client
import Glibc

/// Records a session's requests with their responses and the ends of its connections, from the
/// session's log of frames, as `apns simulate --replay` plays them. A device is recorded as a hash
/// with a key that no file has: of its token, or of what the log has of it.
final class Recorder {
  private let output: LineFile
  private let delivery: RecordedDelivery
  /// Otherwise only the log is known.
  private let knowsCalls: Bool
  /// Milliseconds since the recording began.
  private let clock: () -> Int
  private let key = DeviceKey()
  private var devices: [String: PendingDevices] = [:]
  /// How many notifications were sent while one to another device with the same 8 digits had no
  /// outcome.
  private(set) var alike = 0
  private var open: [AttemptStream: Attempt] = [:]
  private var connections: RecordedConnections
  /// The last reason for each status.
  private var reasons: [Int: String] = [:]
  /// The token of the last rejected request.
  private var lastRejected = ""

  /// Records the session of this program. Call `send()` and `take()` too.
  init(_ path: String, _ delivery: RecordedDelivery) throws(FileFault) {
    let began = Clock.now
    output = try .recording(path)
    self.delivery = delivery
    knowsCalls = true
    clock = { Int((Clock.now - began) * 1000) }
    connections = RecordedConnections(output, clock: clock)
    output.begin(at: Int64(time(nil)))
  }

  /// Records a session of another program, whose log is all that is known.
  init(_ output: LineFile, clock: @escaping () -> Int) {
    self.output = output
    self.clock = clock
    connections = RecordedConnections(output, clock: clock)
    delivery = RecordedDelivery()
    knowsCalls = false
  }

  func flush() throws(FileFault) { try output.flush() }

  /// The session has no more outcomes.
  func finish() throws(FileFault) {
    forget()
    try flush()
  }

  /// The session has ended; the connections of the next one are numbered from 1 again.
  func forget() {
    endAll(.lost) { _ in true }
    for token in devices.keys { release(token) }
    devices = [:]
  }

  // MARK: The program's calls

  /// Call it before the session gets the notification.
  func send(_ token: [UInt8]) {
    let name = DeviceKey.name(of: token)
    let device = key.hash(token)
    var known = devices[name] ?? PendingDevices()
    if known.outstanding > 0, known.waiting.last ?? known.last != device { alike += 1 }
    known.waiting.append(device)
    known.outstanding += 1
    devices[name] = known
  }

  /// The session did not take it.
  func takeBack(_ token: [UInt8]) {
    let name = DeviceKey.name(of: token)
    _ = devices[name]?.waiting.popLast()
    settle(name)
  }

  func take(_ outcome: SendOutcome) {
    if outcome.sent.token.isEmpty || outcome.kind == .refused { return }
    let name = DeviceKey.name(of: outcome.sent.token)
    let status = Int(outcome.httpStatus)
    if !outcome.lastReason.isEmpty, status != 0 { learn(outcome.lastReason, status, name) }
    release(name)
    settle(name)
  }

  private func settle(_ name: String) {
    devices[name]?.outstanding -= 1
    if devices[name]?.outstanding == 0 { devices[name] = nil }
  }

  /// Statuses after which the session sends the notification again.
  private static let retried: Set = [403, 429, 500, 503]

  // MARK: The session's log

  func take(_ line: SessionLine) {
    switch line.kind {
    case APNS_LOG_KIND_FRAME:
      if let frame = FrameLine(line.text) { take(frame, on: line.connection) }
    case APNS_LOG_KIND_CONNECTED:
      connections.begin(line.connection, took: Int(line.milliseconds))
    case APNS_LOG_KIND_CONNECT_FAILED: connections.refuse(line)
    case APNS_LOG_KIND_GOAWAY: goAway(line)
    case APNS_LOG_KIND_DISCONNECTED:
      end(line.connection, line.text.contains("reset by peer") ? "reset" : "closed")
    case APNS_LOG_KIND_ABANDONED: abandon(line.connection)
    case APNS_LOG_KIND_RETRY, APNS_LOG_KIND_TOKEN: learn(line.text)
    default: break
    }
  }

  private func take(_ frame: FrameLine, on connection: UInt32) {
    let stream = AttemptStream(connection: connection, number: frame.stream)
    connections.begin(connection)
    switch (frame.type, frame.isSent) {
    case ("HEADERS", true): if let token = frame.token { begin(stream, to: String(token)) }
    case ("DATA", true): open[stream]?.bytes += frame.bytes
    case ("HEADERS", false) where frame.status >= 200: open[stream]?.status = frame.status
    case ("RST_STREAM", _):
      guard let attempt = open[stream] else { return }
      let reset: Attempt.End = frame.isSent ? .silence : .reset(frame.error)
      end(attempt, on: stream, attempt.status == 0 ? reset : nil)
    // The session logs few GOAWAYs in words, but every frame.
    case ("GOAWAY", false): connections.end(connection, "goaway", error: frame.error)
    default: break
    }
    if !frame.isSent, frame.endsStream, let attempt = open[stream], attempt.status != 0 {
      end(attempt, on: stream, nil)
    }
  }

  private func begin(_ stream: AttemptStream, to token: String) {
    let isAgain = knowsCalls ? isAgain(token, on: stream.connection) : isRetried(token)
    if isAgain || !knowsCalls { release(token) }
    let device = knowsCalls ? devices[token]?.last ?? "" : key.hash(token.utf8)
    devices[token, default: PendingDevices()].stream = stream
    open[stream] = Attempt(
      at: clock(), connection: stream.connection, token: token, device: device, isAgain: isAgain)
  }

  /// Whether the request is for a notification that was sent before, by the program's calls.
  private func isAgain(_ token: String, on connection: UInt32) -> Bool {
    var known = devices[token] ?? PendingDevices()
    defer { devices[token] = known }
    if known.waiting.isEmpty {
      // With several notifications to the device, nobody knows which one it is.
      if known.outstanding == 1 { lose(token, except: connection) }
      return true
    }
    known.last = known.waiting.removeFirst()
    return false
  }

  /// As `isAgain()`, by what became of the last request to the device.
  private func isRetried(_ token: String) -> Bool {
    if let stream = devices[token]?.stream, let attempt = open[stream],
      connections.ended.contains(stream.connection)
    {
      end(attempt, on: stream, .lost)
    }
    defer { devices[token]?.isRetried = false }
    return devices[token]?.isRetried ?? false
  }

  /// The session sends it again: the connection on which it was has ended, or has GOAWAY and may
  /// still answer others.
  private func lose(_ token: String, except connection: UInt32) {
    let lost = open.first { $0.value.token == token && $0.key.connection != connection }
    guard let lost else { return }
    end(lost.value, on: lost.key, .lost)
    if !connections.ended.contains(lost.key.connection) { end(lost.key.connection, "closed") }
  }

  private func end(_ attempt: Attempt, on stream: AttemptStream, _ end: Attempt.End?) {
    open[stream] = nil
    var attempt = attempt
    attempt.until = clock()
    attempt.end = end
    devices[attempt.token]?.isRetried = end != nil || Self.retried.contains(attempt.status)
    guard end == nil, attempt.status != 200, devices[attempt.token] != nil else {
      return output.write(attempt.line(delivery))
    }
    devices[attempt.token]?.answered.append(attempt)
    lastRejected = attempt.token
  }

  /// Writes the rejected requests to a device, with the reasons that are known by now.
  private func release(_ token: String) {
    for var attempt in devices[token]?.answered ?? [] {
      attempt.reason = attempt.reason ?? reasons[attempt.status]
      output.write(attempt.line(delivery))
    }
    devices[token]?.answered = []
  }

  /// The log has the reason of a response that is retried: `… answered 503 Shutdown: …`. A program
  /// may log that of any other, after the device: `5f79cfda answered 410 Unregistered`.
  private func learn(_ text: String) {
    let words = text.split { " :,".contains($0) }
    guard let at = words.firstIndex(of: "answered"), at + 2 < words.count,
      let status = Int(words[at + 1])
    else { return }
    let device = at > 0 ? words[at - 1].prefix(8).lowercased() : ""
    learn(String(words[at + 2]), status, devices[device] == nil ? lastRejected : device)
  }

  private func learn(_ reason: String, _ status: Int, _ token: String) {
    reasons[status] = reason
    guard var answered = devices[token]?.answered,
      let index = answered.lastIndex(where: { $0.status == status && $0.reason == nil })
    else { return }
    answered[index].reason = reason
    devices[token]?.answered = answered
  }

  // MARK: Connections

  private func goAway(_ line: SessionLine) {
    let goAway = GoAwayLine(line.text)
    connections.end(line.connection, "goaway", error: goAway.error, reason: goAway.reason)
    endAll(.lost) { $0.connection == line.connection && $0.number > goAway.last ?? .max }
  }

  private func end(_ connection: UInt32, _ name: String) {
    connections.end(connection, name)
    endAll(.lost) { $0.connection == connection }
  }

  /// The session does not wait for its responses any more.
  private func abandon(_ connection: UInt32) {
    connections.abandon(connection)
    endAll(.silence) { $0.connection == connection }
  }

  private func endAll(_ end: Attempt.End, where isMeant: (AttemptStream) -> Bool) {
    for (stream, attempt) in open where isMeant(stream) { self.end(attempt, on: stream, end) }
  }
}
