import BinaryServer
import NIOConcurrencyHelpers

/// The devices whose pushes HTTP/2 rejects: those that are gone, and those that the control API
/// names. The feedback service has a separate list, which is cleared when it is sent.
final class RejectedDevices: Sendable {
  struct Entry: Sendable {
    var reason: PushReason
    /// UNIX milliseconds.
    var time: Int64
    /// How many more pushes are rejected; nil for all.
    var times: Int?
  }

  private let entries: NIOLockedValueBox<[[UInt8]: Entry]>

  init(_ feedback: [FeedbackEntry] = []) {
    let pairs = feedback.map { ($0.token, Entry(reason: .unregistered, time: $0.milliseconds)) }
    entries = NIOLockedValueBox(Dictionary(pairs) { _, last in last })
  }

  func add(_ token: [UInt8], _ entry: Entry) { entries.withLockedValue { $0[token] = entry } }

  func forget() { entries.withLockedValue { $0 = [:] } }

  var all: [(token: [UInt8], entry: Entry)] {
    entries.withLockedValue { $0.map { ($0.key, $0.value) } }.sorted {
      $0.token.lexicographicallyPrecedes($1.token)
    }
  }

  subscript(token: [UInt8]) -> Entry? {
    entries.withLockedValue { $0.isEmpty ? nil : $0[token] }
  }

  /// The entry for a push that is rejected now.
  func take(_ token: [UInt8]) -> Entry? {
    entries.withLockedValue { entries in
      guard !entries.isEmpty, let entry = entries[token] else { return nil }
      entries[token]?.times = entry.times.map { $0 - 1 }
      if entry.times == 1 { entries[token] = nil }
      return entry
    }
  }
}

extension FeedbackEntry {
  var milliseconds: Int64 { Int64(timestamp) * 1000 }
}
