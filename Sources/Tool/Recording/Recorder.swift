import CAPNS
import COpenSSL
import Client
import Glibc
import JSON
import Simulator

/// Records a session's requests with their responses and the ends of its connections, from the
/// session's log of frames, as `apns simulate --replay` plays them. A device is recorded as a hash
/// of its token with a key that no file has.
final class Recorder {
  private struct Stream: Hashable {
    var connection: UInt32
    var number: Int
  }

  /// The notifications to tokens with the same first 8 digits, by which the log names them.
  private struct Devices {
    /// Sent by the program, and not yet seen in a frame.
    var waiting: [String] = []
    var last = ""
    var outstanding = 0
    /// Rejected, until a reason is known.
    var answered: [Attempt] = []
  }

  private let path: String
  private let descriptor: CInt
  private let delivery: RecordedDelivery
  private let began = Clock.now
  private let key = (0..<4).map { _ in UInt64.random(in: .min ... .max) }
  private var waiting: [UInt8] = []
  private var devices: [String: Devices] = [:]
  private var open: [Stream: Attempt] = [:]
  /// Connections that were recorded as open, and as ended.
  private var begun: Set<UInt32> = []
  private var ended: Set<UInt32> = []
  /// The last reason for each status.
  private var reasons: [Int: String] = [:]
  /// The token of the last rejected request.
  private var lastRejected = ""

  init(_ path: String, _ delivery: RecordedDelivery) throws(FileFault) {
    self.path = path
    self.delivery = delivery
    do throws(PrivateFile.Refusal) {
      descriptor = try PrivateFile.open(path, O_WRONLY | O_TRUNC)
    } catch {
      throw FileFault(path: path, message: error.message)
    }
    var header = JSONMembers()
    header.add(RecordingFile.mark, number: RecordingFile.version)
    header.add("began", text: Clock.written(Int64(time(nil))))
    write(header.object)
    try flush()
  }

  deinit { close(descriptor) }

  private var now: Int { Int((Clock.now - began) * 1000) }

  private func write(_ line: String) {
    waiting += line.utf8
    waiting.append(0x0A)
  }

  func flush() throws(FileFault) {
    try OutputFile.write(waiting, to: descriptor, path)
    waiting.removeAll(keepingCapacity: true)
  }

  /// The session has no more outcomes.
  func finish() throws(FileFault) {
    for (stream, attempt) in open { end(attempt, on: stream, .lost) }
    for token in devices.keys { release(token) }
    try flush()
  }

  // MARK: The program's calls

  /// Call it before the session gets the notification.
  func send(_ token: [UInt8]) {
    let name = Self.name(of: token)
    devices[name, default: Devices()].waiting.append(hash(token))
    devices[name]?.outstanding += 1
  }

  /// The session did not take it.
  func takeBack(_ token: [UInt8]) {
    let name = Self.name(of: token)
    _ = devices[name]?.waiting.popLast()
    settle(name)
  }

  func take(_ outcome: SendOutcome) {
    if outcome.sent.token.isEmpty || outcome.kind == .refused { return }
    let name = Self.name(of: outcome.sent.token)
    let status = Int(outcome.httpStatus)
    if !outcome.lastReason.isEmpty, status != 0 { learn(outcome.lastReason, status, name) }
    release(name)
    settle(name)
  }

  private func settle(_ name: String) {
    devices[name]?.outstanding -= 1
    if devices[name]?.outstanding == 0 { devices[name] = nil }
  }

  private static func name(of token: [UInt8]) -> String {
    DeviceToken.hex(of: Array(token.prefix(4)))
  }

  private func hash(_ token: [UInt8]) -> String {
    let bytes = key.withUnsafeBytes { Array($0) } + token
    var digest = [UInt8](repeating: 0, count: 32)
    copenssl_sha256(bytes, bytes.count, &digest)
    return DeviceToken.hex(of: Array(digest.prefix(16)))
  }

  // MARK: The session's log

  func take(_ line: SessionLine) {
    switch line.kind {
    case APNS_LOG_KIND_FRAME:
      if let frame = FrameLine(line.text) { take(frame, on: line.connection) }
    case APNS_LOG_KIND_CONNECTED: begin(line.connection, took: Int(line.milliseconds))
    case APNS_LOG_KIND_CONNECT_FAILED: refused(line)
    case APNS_LOG_KIND_GOAWAY: goAway(line)
    case APNS_LOG_KIND_DISCONNECTED:
      end(line.connection, line.text.contains("reset by peer") ? "reset" : "closed")
    case APNS_LOG_KIND_ABANDONED: abandon(line.connection)
    case APNS_LOG_KIND_RETRY, APNS_LOG_KIND_TOKEN: learn(line.text)
    default: break
    }
  }

  private func take(_ frame: FrameLine, on connection: UInt32) {
    let stream = Stream(connection: connection, number: frame.stream)
    begin(connection, took: nil)
    switch (frame.type, frame.isSent) {
    case ("HEADERS", true): if let token = frame.token { begin(stream, to: String(token)) }
    case ("DATA", true): open[stream]?.bytes += frame.bytes
    case ("HEADERS", false) where frame.status >= 200: open[stream]?.status = frame.status
    case ("RST_STREAM", _):
      guard let attempt = open[stream] else { return }
      let reset: Attempt.End = frame.isSent ? .silence : .reset(frame.error)
      end(attempt, on: stream, attempt.status == 0 ? reset : nil)
    // The session logs few GOAWAYs in words, but every frame.
    case ("GOAWAY", false): end(connection, "goaway", error: frame.error)
    default: break
    }
    if !frame.isSent, frame.endsStream, let attempt = open[stream], attempt.status != 0 {
      end(attempt, on: stream, nil)
    }
  }

  private func begin(_ stream: Stream, to token: String) {
    var known = devices[token] ?? Devices()
    let isAgain = known.waiting.isEmpty
    if isAgain {
      // With several notifications to the device, nobody knows which one it is.
      if known.outstanding == 1 { lose(token, except: stream.connection) }
    } else {
      known.last = known.waiting.removeFirst()
    }
    devices[token] = known
    if isAgain { release(token) }
    open[stream] = Attempt(
      at: now, connection: stream.connection, token: token, device: known.last, isAgain: isAgain)
  }

  /// The session sends it again: the connection on which it was has ended, or has GOAWAY and may
  /// still answer others.
  private func lose(_ token: String, except connection: UInt32) {
    let lost = open.first { $0.value.token == token && $0.key.connection != connection }
    guard let lost else { return }
    end(lost.value, on: lost.key, .lost)
    if !ended.contains(lost.key.connection) { end(lost.key.connection, "closed") }
  }

  private func end(_ attempt: Attempt, on stream: Stream, _ end: Attempt.End?) {
    open[stream] = nil
    var attempt = attempt
    attempt.until = now
    attempt.end = end
    guard end == nil, attempt.status != 200, devices[attempt.token] != nil else {
      return write(attempt.line(delivery))
    }
    devices[attempt.token]?.answered.append(attempt)
    lastRejected = attempt.token
  }

  /// Writes the rejected requests to a device, with the reasons that are known by now.
  private func release(_ token: String) {
    for var attempt in devices[token]?.answered ?? [] {
      attempt.reason = attempt.reason ?? reasons[attempt.status]
      write(attempt.line(delivery))
    }
    devices[token]?.answered = []
  }

  /// The log has the reason of a response that is retried: `… answered 503 Shutdown: …`.
  private func learn(_ text: String) {
    let words = text.split { " :,".contains($0) }
    guard let at = words.firstIndex(of: "answered"), at + 2 < words.count,
      let status = Int(words[at + 1])
    else { return }
    learn(String(words[at + 2]), status, lastRejected)
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

  private func begin(_ connection: UInt32, took milliseconds: Int?) {
    guard begun.insert(connection).inserted else { return }
    var members = event("opened", connection)
    if let milliseconds { members.add("ms", number: milliseconds) }
    write(members.object)
  }

  private func refused(_ line: SessionLine) {
    var members = event("refused", line.connection)
    members.add("cause", text: String(cString: apns_cause_name(line.cause)))
    write(members.object)
  }

  /// `the service sent GOAWAY: NO_ERROR, last stream 4711, {"reason":"Shutdown"}`.
  private func goAway(_ line: SessionLine) {
    let parts = FrameLine.withoutConnection(line.text).split(
      separator: ", ", maxSplits: 2, omittingEmptySubsequences: false)
    let error = parts.first.map { FrameLine.error(named: $0.split(separator: " ").last ?? "") }
    // The number of lines that were left out may follow.
    let data = parts.count > 2 ? parts[2].lastIndex(of: "}").map { parts[2][...$0] } : nil
    let json = data.flatMap { try? JSONParser.read(Array($0.utf8)) }
    end(line.connection, "goaway", error: error, reason: json?["reason"]?.string)
    let last = parts.count > 1 ? Int(parts[1].dropFirst("last stream ".count)) : nil
    for (stream, attempt) in open
    where stream.connection == line.connection && stream.number > last ?? .max {
      end(attempt, on: stream, .lost)
    }
  }

  private func end(
    _ connection: UInt32, _ name: String, error: String? = nil, reason: String? = nil
  ) {
    if ended.insert(connection).inserted {
      var members = event(name, connection)
      members.add("error", text: error)
      members.add("reason", text: reason)
      write(members.object)
    }
    if name == "goaway" { return }
    for (stream, attempt) in open where stream.connection == connection {
      end(attempt, on: stream, .lost)
    }
  }

  /// The session does not wait for its responses any more.
  private func abandon(_ connection: UInt32) {
    ended.insert(connection)
    for (stream, attempt) in open where stream.connection == connection {
      end(attempt, on: stream, .silence)
    }
  }

  private func event(_ name: String, _ connection: UInt32) -> JSONMembers {
    var members = JSONMembers()
    members.add("at", number: now)
    members.add("event", text: name)
    if connection != 0 { members.add("connection", number: connection) }
    return members
  }
}
