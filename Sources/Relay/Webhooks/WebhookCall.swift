import CAPNS
import Foundation

/// A request to a webhook's receiver, over a new connection.
struct WebhookCall {
  struct Failure: Error {
    var words: String
    /// How long to wait, as the receiver asked.
    var retryAfterMS: Int64 = 0
  }

  private static let longestHead = 16 * 1024
  private static let longestBody = 64 * 1024

  private let address: WebhookConfiguration.Address
  private let tls: ClientTLS?
  private let timeoutMS: Int64
  private let secrets: [[UInt8]]

  /// nil if the configuration has no webhook.
  init?(_ wanted: WebhookConfiguration) {
    guard let address = wanted.address else { return nil }
    self.address = address
    tls = address.isSecure ? ClientTLS(ca: wanted.ca) : nil
    timeoutMS = Int64(wanted.timeoutS * 1000)
    secrets = wanted.secrets
  }

  var place: String { address.shown }

  /// Returns once the receiver has accepted the message.
  func send(_ message: WebhookMessage) throws(Failure) {
    let head: ResponseHead
    do throws(ClientSocket.Failure) {
      head = try response(to: request(message), until: RelayClock.monotonic + timeoutMS)
    } catch {
      switch error {
      case .late:
        throw Failure(words: "no response within \(DurationText.of(Double(timeoutMS) / 1000))")
      case .broken(let words): throw Failure(words: words)
      }
    }
    guard (200..<300).contains(head.status) else {
      throw Failure(words: "HTTP status \(head.status)", retryAfterMS: head.retryAfterMS)
    }
  }

  private func request(_ message: WebhookMessage) -> [UInt8] {
    let fields =
      [
        ("host", address.authority),
        ("user-agent", "apns-relay/\(String(cString: apns_version()))"),
        ("content-length", "\(message.body.utf8.count)"), ("connection", "close"),
      ] + message.fields(at: RelayClock.now / 1000, secrets)
    let head = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
    return Array("POST \(address.path) HTTP/1.1\r\n\(head)\r\n\(message.body)".utf8)
  }

  private func response(
    to request: [UInt8], until: Int64
  ) throws(ClientSocket.Failure) -> ResponseHead {
    let socket = try ClientSocket(host: address.host, port: address.port, tls, until: until)
    var unsent: ClientSocket.Failure?
    do throws(ClientSocket.Failure) {
      try socket.send(request, until: until)
    } catch {
      // It may have responded, and closed, before it has read everything.
      unsent = error
    }
    do throws(ClientSocket.Failure) {
      return try Self.head(socket, until)
    } catch {
      throw unsent ?? error
    }
  }

  private static func head(
    _ socket: ClientSocket, _ until: Int64
  ) throws(ClientSocket.Failure) -> ResponseHead {
    var bytes: [UInt8] = []
    while true {
      guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
        guard bytes.count < longestHead else { throw .broken("its response has no end") }
        bytes += try socket.receive(until: until)
        continue
      }
      guard let head = ResponseHead(bytes[..<end.lowerBound]) else {
        throw .broken("its response is not HTTP/1")
      }
      bytes.removeSubrange(..<end.upperBound)
      // Such as 103 Early Hints.
      if (100..<200).contains(head.status) { continue }
      // Read, because closing with unread bytes resets the receiver's connection.
      while bytes.count < min(head.length, longestBody),
        let more = try? socket.receive(until: until)
      { bytes += more }
      return head
    }
  }
}

/// The start of a response.
private struct ResponseHead {
  var status: Int
  /// The body's, if it is known.
  var length = 0
  var retryAfterMS: Int64 = 0

  private static let longestRetryAfterMS: Int64 = 86_400_000

  /// nil if it is malformed.
  init?(_ bytes: ArraySlice<UInt8>) {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]),
      (100..<600).contains(status)
    else { return nil }
    self.status = status
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      let value = parts[1].trimmingCharacters(in: .whitespaces)
      switch parts[0].lowercased() {
      case "content-length": length = Int(value) ?? 0
      case "retry-after":
        let time = Int64(value).map { $0.multipliedReportingOverflow(by: 1000).partialValue }
        retryAfterMS = min(max(0, time ?? Self.wait(until: value)), Self.longestRetryAfterMS)
      default: break
      }
    }
  }

  /// The milliseconds until a time as HTTP writes it; 0 if it is malformed.
  private static func wait(until text: String) -> Int64 {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    guard let time = format.date(from: text) else { return 0 }
    return Int64(time.timeIntervalSince1970 * 1000) - RelayClock.now
  }
}
