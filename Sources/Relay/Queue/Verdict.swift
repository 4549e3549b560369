/// How one notification ended, for good.
package struct PushOutcome: Equatable, Sendable {
  package enum End: String, CaseIterable, Sendable {
    /// 200 from the service.
    case accepted
    /// The service's no.
    case rejected
    /// It may have arrived, and the app's option is not to send it again.
    case unknown
    /// Its time was over before it was sent.
    case expired
    /// It cannot be sent: a fault of the entry, told in `reason`.
    case refused
    /// Delivered too often; see the entry's story among the dead letters.
    case dead
  }

  /// Its place in the entry's tokens; 0 if there is only one.
  package var position: Int
  package var token: WrittenToken
  package var end: End
  package var reason = ""
  package var httpStatus = 0
  package var apnsID = PushID()
  /// Since when the device is gone (410), in UNIX seconds.
  package var goneSince: Int64?
  /// The token is remembered as refused, and told as feedback with this time in UNIX seconds.
  package var refusedSince: Int64?
}

/// What a worker has to say of an entry.
package struct Verdict: Equatable, Sendable {
  package enum Next: Equatable, Sendable {
    /// The worker goes on with it.
    case held
    /// Every notification of it has its outcome: the entry goes.
    case finished
    /// It waits until this time. `isAnswered`: because the service asked for that.
    case later(at: Int64, isAnswered: Bool, story: String)
    /// It was not sent at all: it waits as if it had not been claimed.
    case untouched
    /// It becomes a dead letter.
    case dead(story: String)

    /// The entry goes.
    var isEnd: Bool {
      switch self {
      case .finished, .dead: true
      case .held, .later, .untouched: false
      }
    }
  }

  package var number: Int64
  package var app: String
  package var id: String
  package var deliveries: Int
  package var outcomes: [PushOutcome]
  package var next: Next

  package init(_ entry: Entry, _ outcomes: [PushOutcome], _ next: Next) {
    self.init(
      number: entry.number, app: entry.content.app, id: entry.content.id,
      deliveries: entry.deliveries, outcomes: outcomes, next: next)
  }

  /// Shows each outcome where it is: to copy one would count references of its texts.
  @inline(__always)
  func forEachOutcome(_ body: (UnsafePointer<PushOutcome>) -> Void) {
    outcomes.withUnsafeBufferPointer { outcomes in
      guard let first = outcomes.baseAddress else { return }
      for place in outcomes.indices { body(first + place) }
    }
  }

  init(
    number: Int64, app: String, id: String, deliveries: Int, outcomes: [PushOutcome], next: Next
  ) {
    self.number = number
    self.app = app
    self.id = id
    self.deliveries = deliveries
    self.outcomes = outcomes
    self.next = next
  }
}
