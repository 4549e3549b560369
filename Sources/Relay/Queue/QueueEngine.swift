/// What keeps the work of a relay. Its calls may come from any thread, and each is whole or has
/// not been: what it changed survives a kill -9 once it has returned. Times are UNIX milliseconds.
package protocol QueueEngine: AnyObject, Sendable {
  /// What the one who runs the engine should know, such as that it forgets everything when it ends.
  var warnings: [String] { get }

  /// A place for one more worker of this app. It holds entries as long as it is heard of.
  func join(app: String, named: String, at now: Int64) throws -> WorkerSeat
  /// Says that the worker lives. False: it was taken for dead, its entries are others' now, and it
  /// has to join again.
  func renew(_ seat: WorkerSeat, at now: Int64) throws -> Bool
  /// The worker goes. What it still holds waits for others, and its story gets this line.
  func leave(_ seat: WorkerSeat, saying line: String, at now: Int64) throws
  /// Whether the queue knows the worker still. It only reads.
  func knows(_ seat: WorkerSeat) throws -> Bool
  /// Takes their entries from workers that are dead, or silent since this time. How many entries. What a
  /// process had in flight together counts as a crash in company, see `CrashGroup`.
  func reclaim(silentSince: Int64, at now: Int64) throws -> Int

  /// Takes entries for about so many notifications, the ones that wait for a time first, then in
  /// the order in which they came. `inOrder`: an entry is held back as long as there is an earlier
  /// one for one of its devices, or for its channel, whoever has that. `isFree`: the worker has
  /// nothing, so that it may get a group of suspects; while some wait, nobody gets anything else.
  func claim(
    _ seat: WorkerSeat, room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) throws -> [Entry]
  /// Whether there may be something to claim. It only reads.
  func isAnythingThere(app: String, at now: Int64) throws -> Bool
  /// Makes due what waits only because the service was in trouble (`ParkedTime`). How many.
  func bringBack(app: String, at now: Int64) throws -> Int
  /// Records outcomes and what becomes of their entries, all of them or none.
  func record(_ verdicts: [Verdict], by seat: WorkerSeat, at now: Int64) throws

  /// Adds entries, all of them or none; one whose id is known is left out. How many were added.
  func enqueue(_ entries: [NewEntry], at now: Int64) throws -> Int

  /// What is known of these ids; those that are not are left out.
  func known(_ ids: [String], app: String) throws -> [String: KnownEntry]

  /// Tokens that were recorded as refused, those behind this number, in their order and so many at
  /// most. A token that is refused anew gets a new number.
  func refused(app: String, behind number: Int64, most: Int) throws -> [RefusedToken]
  /// Remembers tokens as refused now, and has them told as feedback.
  func refuse(_ devices: [GoneToken], app: String, at now: Int64) throws
  /// Forgets those that were refused before this time.
  func forgetRefused(before: Int64) throws -> Int
  /// What a feedback service has to tell of this app, so many at most, the oldest first.
  func feedback(app: String, most: Int) throws -> [GoneToken]
  /// It was told. A device that was refused again meanwhile, with a later time, stays.
  func forgetFeedback(_ told: [GoneToken], app: String) throws
  /// The last answers that were recorded, so many at most, the oldest first.
  func lastAnswers(app: String, most: Int) throws -> [RecordedAnswer]
  /// A word that relays leave each other about an app; nil: there is none.
  func note(_ name: String, app: String) throws -> String?
  func setNote(_ name: String, _ text: String?, app: String) throws
  /// False: it was not what the caller has read, and stays.
  func replaceNote(_ name: String, _ old: String?, by text: String, app: String) throws -> Bool

  /// A worker's share of the `most` connections that all workers of the app together may have: it may
  /// have so many from now on. It has `held` now, which nobody else gets before it says less, and
  /// `wanted` at most. One that is needed, because it has notifications in hand, comes first. nil: it was
  /// taken for dead, and has none.
  func shareConnections(
    _ seat: WorkerSeat, held: Int, wanted: Int, isNeeded: Bool, of most: Int
  ) throws -> Int?

  /// The provider token of a key, which all relays on the queue share. It is made anew if there is
  /// none that was made after `oldest`, by one relay at a time; nothing else waits for that. One that
  /// has not made it within so many milliseconds is waited for no longer.
  func providerToken(
    team: String, key: String, madeAfter oldest: Int64, at now: Int64, within makingMS: Int64,
    make: () throws -> SharedToken
  ) throws -> SharedToken

  /// Removes outcomes from before this time, except those that a reader has yet to read.
  func trim(before: Int64) throws -> Int
  func depths(at now: Int64) throws -> [String: QueueDepth]
  /// Throws if the queue cannot be read and written, or takes nothing more.
  func check() throws

  /// Keeps room for what is in hand to be recorded, now and then. It says nothing: who needs the room does.
  func keepRoom()
  /// Calls wait for another program that holds it up, and come to an end by themselves.
  var isHeldUp: Bool { get }
  /// The relay ends: from now on no call waits for long.
  func hurry()
}

extension QueueEngine {
  package var warnings: [String] { [] }
  package func keepRoom() {}
  package var isHeldUp: Bool { false }
  package func hurry() {}

  package func claim(_ seat: WorkerSeat, room: Int, at now: Int64) throws -> [Entry] {
    try claim(seat, room: room, inOrder: false, at: now)
  }

  package func claim(
    _ seat: WorkerSeat, room: Int, inOrder: Bool, at now: Int64
  ) throws -> [Entry] {
    try claim(seat, room: room, inOrder: inOrder, isFree: true, at: now)
  }
}

/// A worker's place in the queue.
package struct WorkerSeat: Hashable, Sendable {
  package var number: Int64
  package var app: String
}

/// A token that the service refused for good.
package struct RefusedToken: Equatable, Sendable {
  package var number: Int64
  /// In hex, as it was recorded.
  package var token: String
  /// UNIX milliseconds.
  package var at: Int64

  package init(number: Int64, token: String, at: Int64) {
    self.number = number
    self.token = token
    self.at = at
  }
}

/// A device that no longer has the app, or never had it, and since when in UNIX seconds.
package struct GoneToken: Equatable, Sendable {
  package var token: String
  package var since: Int64

  package init(token: String, since: Int64) {
    self.token = token
    self.since = since
  }
}

/// What a service answered once.
package struct RecordedAnswer: Equatable, Sendable {
  package var httpStatus: Int
  package var reason: String

  package init(httpStatus: Int, reason: String) {
    self.httpStatus = httpStatus
    self.reason = reason
  }
}

/// What a queue knows of an id.
package struct KnownEntry: Equatable, Sendable {
  /// The token or the channel of an entry that is not done yet; nil if it is, or has many tokens.
  package var target: String?
  /// Of its first notification, or of a later one if it has many tokens; nil: there is none yet.
  package var outcome: PushOutcome?

  package init(target: String? = nil, outcome: PushOutcome? = nil) {
    self.target = target
    self.outcome = outcome
  }
}

/// How full an app's part of the queue is.
package struct QueueDepth: Equatable, Sendable {
  /// Entries that nobody holds yet.
  package var waiting = 0
  package var later = 0
  package var held = 0
  package var dead = 0
  /// Of the oldest waiting one.
  package var ageS = 0

  package init() {}
}

package struct SharedToken: Equatable, Sendable {
  package var text: String
  /// UNIX milliseconds.
  package var made: Int64

  /// Clocks that differ by less are the same to us.
  private static let toleranceMS: Int64 = 2000

  /// One from the future is not to be trusted: the clock was set back.
  package func isFresh(after oldest: Int64, at now: Int64) -> Bool {
    made > oldest && made <= now + Self.toleranceMS
  }
}
