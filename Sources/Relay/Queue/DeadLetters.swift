/// An entry that was delivered or deferred too often.
package struct DeadLetter: Equatable, Sendable {
  /// Its place among the dead letters: SQLite's number, or Redis'.
  package var number: String
  package var id: String
  package var lane = Lane.normal
  package var deliveries = 0
  /// What happened to it, one event in each line.
  package var history = ""
  /// When it became a dead letter, in UNIX milliseconds.
  package var at: Int64 = 0
  /// The devices whose outcome is `dead`, which a retry pushes to. 0 if it cannot be given back: its
  /// outcomes are gone, or a later entry has its ID.
  package var devices = 0

  /// The line in the history of an entry that was given back, behind the time.
  static let givenBack = "given back by the operator"
}

/// An outcome as readers find it in the queue.
package struct OutcomeRow: Equatable, Sendable {
  /// A reader continues after this number. In Redis many outcomes have one number.
  package var number: String
  package var id: String
  package var deliveries: Int
  /// When it was recorded, in UNIX milliseconds.
  package var at: Int64
  package var outcome: PushOutcome
  /// That of the entry; nil for none.
  package var traceparent: String?
}

/// The outcomes that a reader wants.
package struct OutcomeFilter: Equatable, Sendable {
  /// Any ID if it is empty.
  package var ids: Set<String> = []
  /// Any kind if it is nil.
  package var kinds: Set<PushOutcome.Kind>?
  /// Also outcomes of gone devices (410), of any kind.
  package var wantsGone = false

  package init() {}

  /// The kinds by which outcomes are selected.
  package static let words =
    PushOutcome.Kind.allCases.map(\.rawValue).joined(separator: ", ") + " or gone"

  /// Only outcomes of these kinds, or of gone devices. Throws the first word that is neither.
  package init(only words: [String]) throws(UnknownWord) {
    var kinds: Set<PushOutcome.Kind> = []
    for word in words {
      if word == "gone" {
        wantsGone = true
      } else if let kind = PushOutcome.Kind(rawValue: word) {
        kinds.insert(kind)
      } else {
        throw UnknownWord(word: word)
      }
    }
    self.kinds = kinds
  }

  package struct UnknownWord: Error {
    package var word: String
  }

  package func takes(_ id: String, _ outcome: PushOutcome) -> Bool {
    guard ids.isEmpty || ids.contains(id) else { return false }
    guard let kinds else { return true }
    return kinds.contains(outcome.kind) || (wantsGone && outcome.httpStatus == 410)
  }
}

package struct OutcomePage: Equatable, Sendable {
  package var rows: [OutcomeRow] = []
  /// Where the next page begins.
  package var last: String
  /// The queue has no later outcomes yet.
  package var isEnd: Bool
}

/// Reads a queue without changing it or blocking anybody.
package protocol QueueReading: AnyObject, Sendable {
  /// A few outcomes after a number, in their order; "0" is before all.
  func outcomes(_ filter: OutcomeFilter, app: String, after number: String) throws -> OutcomePage
  /// Up to `most` dead letters after a number, in their order; "0" is before all. With IDs only
  /// theirs.
  func deadLetters(app: String, ids: Set<String>, after number: String, most: Int) throws
    -> [DeadLetter]
}

extension QueueReading {
  /// Gives all dead letters of an app to `act`, in parts.
  package func readDeadLetters(
    app: String, ids: Set<String>, _ act: ([DeadLetter]) throws -> Void
  ) throws {
    var last = "0"
    while true {
      let part = try deadLetters(app: app, ids: ids, after: last, most: 100)
      guard let next = part.last else { return }
      try act(part)
      last = next.number
    }
  }
}

/// An operator's control over dead letters, and their end. Every call is atomic.
package protocol DeadLetterStore: QueueReading {
  /// Gives dead letters back to the queue. Devices whose outcome is `dead` are pushed to again, and
  /// lose that outcome; those with another one are not. Returns the numbers of devices, without the
  /// letters that could not be given back.
  func retry(_ letters: [DeadLetter], app: String, at now: Int64) throws -> [String: Int]
  /// Removes dead letters; their outcomes stay. Returns how many there still were.
  func discard(_ letters: [DeadLetter], app: String) throws -> Int

  /// Removes dead letters from before this time.
  func trimDeadLetters(before: Int64) throws -> Int
  /// Removes the gone devices that were last recorded before this time, whenever APNs said they went.
  func trimGone(before: Int64, at now: Int64) throws -> Int
}
