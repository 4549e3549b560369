/// An entry while a worker has it: what was sent, what came back, and what becomes of it.
final class HeldEntry {
  let entry: Entry
  /// nil: the entry cannot be read.
  let targets: EntryTargets?
  let count: Int
  /// 0: it does not say; nil: there is none of that name.
  let pushType: UInt8?
  /// The id is a UUID, and that of its only notification.
  let hasUUID: Bool
  /// The next place to be sent; the places before it are sent, or have their outcome.
  var cursor = 0
  var inFlight = 0
  // This and `done` change at each answer. For the language to watch that nobody else has them, which
  // nobody can on the worker's thread, costs more than the change.
  /// Outcomes that the queue does not have yet.
  @exclusivity(unchecked) var fresh: [PushOutcome] = []
  /// The service asks to come again after so many seconds, the longest of what it said.
  var laterS: Int?
  /// Nobody asked for that time: the service was in trouble.
  var isGuess = true
  /// Why it is delivered again, in the words of an answer or of the library.
  var againBecause = ""
  /// It is not sent any further: the relay stops, or others have the entry.
  var isCut = false
  /// What becomes of it; nil while it is under way.
  var next: Verdict.Next?
  /// Whether the worker has it among those to be recorded.
  var isChanged = false
  @exclusivity(unchecked) private var done: PositionSet
  /// How many notifications of it have no outcome yet.
  private(set) var open: Int

  /// One that cannot be read has one outcome, and is finished.
  init(_ entry: consuming Entry) {
    pushType = entry.content.pushType.map { ServiceSession.pushTypes[$0] } ?? 0
    let fault: String
    do throws(EntryTargets.Fault) {
      if let fault = entry.fault { throw EntryTargets.Fault(description: fault) }
      let targets = try EntryTargets(entry.content)
      self.targets = targets
      count = targets.count
      hasUUID = !targets.isList && ServiceSession.isUUID(entry.content.id)
      done = entry.answered
      open = count - done.count(below: count)
      self.entry = entry
      return
    } catch {
      fault = error.description
    }
    targets = nil
    count = 0
    hasUUID = false
    done = []
    open = 0
    fresh = [
      PushOutcome(
        position: 0, token: WrittenToken(entry.content.token ?? ""), end: .refused, reason: fault)
    ]
    next = .finished
    self.entry = entry
  }

  func isOpen(_ position: Int) -> Bool { !done.contains(position) }

  /// As it is written; "" where there is none.
  func token(at position: Int) -> WrittenToken { targets?.token(at: position) ?? "" }

  private static let mostExpected = 256

  /// `outcome` is made where it stays.
  func end(at position: Int, _ outcome: @autoclosure () -> PushOutcome) {
    guard !done.contains(position) else { return }
    done.insert(position)
    open -= 1
    // As many more as are to be expected, and not one after the other.
    if fresh.isEmpty { fresh.reserveCapacity(min(1 + inFlight, Self.mostExpected)) }
    fresh.append(outcome())
  }

  /// All that have no outcome get this one.
  func endRest(_ end: PushOutcome.End, because reason: String) {
    for position in 0..<count where !done.contains(position) {
      self.end(
        at: position,
        PushOutcome(position: position, token: token(at: position), end: end, reason: reason))
    }
  }

  /// Decides what becomes of it, once nothing is in flight.
  func settle(_ rules: DeliveryRules, now: @autoclosure () -> Int64) {
    guard next == nil, inFlight == 0, cursor >= count || isCut else { return }
    if open == 0 {
      next = .finished
    } else if let laterS {
      let story = "\(againBecause), again in \(laterS) s"
      if entry.answers + 1 > rules.tries {
        endRest(.dead, because: againBecause)
        next = .dead(story: "\(againBecause), for the \(entry.answers + 1)th time")
      } else {
        // One that expires meanwhile is not kept any longer.
        var due = ParkedTime.of(now() + Int64(laterS) * 1000, isGuess: isGuess)
        if let last = entry.lastSecond, last < due / 1000 { due = (last + 1) * 1000 }
        next = .later(at: due, isAnswered: true, story: story)
      }
    } else if !againBecause.isEmpty {
      next = .later(
        at: now() + rules.againMS, isAnswered: false,
        story: "delivery \(entry.deliveries) without an answer: \(againBecause)")
    } else {
      next = .untouched
    }
  }
}

extension Verdict {
  /// What the queue does not have yet of it. Its entry is not copied, which would count references of
  /// all its texts.
  init(_ held: HeldEntry) {
    self.init(
      number: held.entry.number, app: held.entry.content.app, id: held.entry.content.id,
      deliveries: held.entry.deliveries, outcomes: held.fresh, next: held.next ?? .held)
  }
}

/// The rules by which entries are delivered again.
struct DeliveryRules {
  /// An entry that was delivered more often, without an answer, is dead.
  var deliveries: Int
  /// How often the service may ask to come again.
  var tries: Int
  /// The pause before an entry is delivered again of which nobody knows whether it arrived.
  var againMS: Int64 = 1000
  var unknown: AppConfiguration.Unknown

  /// Takes an answer into its entry.
  func take(_ answer: Answer) {
    let held = answer.held
    held.inFlight -= 1
    switch answer.kind {
    case .accepted: held.end(at: answer.position, answer.outcome(.accepted))
    case .rejected where answer.httpStatus == 403:
      // The provider is refused, not this notification.
      putOff(held, Self.pauseOfRefusedProviderS, answer.reason)
    case .rejected where answer.retryAfterS > 0, .unknown where answer.retryAfterS > 0,
      .cancelled where answer.retryAfterS > 0:
      if !answer.isAsked, answer.isTaken, answer.retryAfterS <= 900 {
        // The session would have tried again in seconds. Longer is for provider tokens.
        putOff(held, Self.pausesInTrouble[0], answer.reason)
      } else if !answer.isAsked, answer.httpStatus >= 500 {
        let pauses = Self.pausesInTrouble
        putOff(
          held, pauses[min(held.entry.answers, pauses.count - 1)], answer.reason, isGuess: true)
      } else {
        putOff(held, answer.retryAfterS, answer.reason)
      }
      if answer.kind == .cancelled { held.isCut = true }
    case .rejected: held.end(at: answer.position, answer.outcome(.rejected))
    case .cancelled: held.isCut = true
    case .unknown where unknown == .record: held.end(at: answer.position, answer.outcome(.unknown))
    case .unknown: held.againBecause = answer.reason
    }
  }

  static let pauseOfRefusedProviderS = 60

  /// How long an entry waits when the service was in trouble, one time after the other: briefly first, and
  /// in the end as long as Apple says.
  static let pausesInTrouble = [5, 15, 60, 300, 900]

  private func putOff(
    _ held: HeldEntry, _ seconds: Int, _ reason: String, isGuess: Bool = false
  ) {
    held.laterS = max(held.laterS ?? 0, seconds)
    held.isGuess = held.isGuess && isGuess
    held.againBecause = reason
  }

  /// Whether an entry that was just claimed is not to be sent any more.
  func refuses(_ held: HeldEntry, now: @autoclosure () -> Int64) -> Bool {
    guard held.next == nil else { return true }
    if let last = held.entry.lastSecond, last < now() / 1000 {
      held.endRest(.expired, because: "its time was over")
      held.next = .finished
      return true
    }
    let unanswered = held.entry.deliveries - held.entry.answers - held.entry.crashes
    if unanswered > deliveries {
      let reason = "delivered \(unanswered - 1) times without an answer"
      held.endRest(.dead, because: reason)
      held.next = .dead(story: reason)
      return true
    }
    return false
  }
}
