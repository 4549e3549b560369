import BinaryServer
import NIOConcurrencyHelpers

/// The devices that get 410 over HTTP/2. The feedback service has a separate list, which is cleared
/// when it is sent.
final class UnregisteredDevices: Sendable {
  struct Entry: Sendable {
    var reason: PushReason
    /// UNIX milliseconds.
    var time: Int64
  }

  private let entries: NIOLockedValueBox<[[UInt8]: Entry]>

  init(_ feedback: [FeedbackEntry]) {
    let pairs = feedback.map { ($0.token, Entry(reason: .unregistered, time: $0.milliseconds)) }
    entries = NIOLockedValueBox(Dictionary(pairs) { _, last in last })
  }

  func add(_ token: [UInt8], _ entry: Entry) { entries.withLockedValue { $0[token] = entry } }

  func forget() { entries.withLockedValue { $0 = [:] } }

  subscript(token: [UInt8]) -> Entry? {
    entries.withLockedValue { $0.isEmpty ? nil : $0[token] }
  }
}

extension FeedbackEntry {
  var milliseconds: Int64 { Int64(timestamp) * 1000 }
}
