import NIOConcurrencyHelpers

/// A gone device.
package struct FeedbackEntry: Sendable, Equatable {
  /// UNIX seconds.
  package var timestamp: UInt32
  package var token: [UInt8]

  package init(timestamp: UInt32, token: [UInt8]) {
    self.timestamp = timestamp
    self.token = token
  }
}

/// The devices that the feedback service lists. Reading the list clears it.
package final class FeedbackList: Sendable {
  private let entries: NIOLockedValueBox<[FeedbackEntry]>

  package init(_ entries: [FeedbackEntry] = []) { self.entries = NIOLockedValueBox(entries) }

  package func append(_ entry: FeedbackEntry) {
    entries.withLockedValue { $0.append(entry) }
  }

  package var all: [FeedbackEntry] { entries.withLockedValue { $0 } }

  package func takeAll() -> [FeedbackEntry] {
    entries.withLockedValue { entries in
      defer { entries = [] }
      return entries
    }
  }
}
