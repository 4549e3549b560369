/// A durable queue. Every call may come from any thread and is atomic: after it has returned, its
/// changes survive kill -9. Times are UNIX milliseconds.
package protocol QueueEngine: AnyObject, Sendable {
  /// Warnings for the operator, such as that the queue is lost when its server stops.
  var warnings: [String] { get }

  /// Registers one more worker of this app. It keeps its entries while it sends heartbeats.
  func join(app: String, named: String, at now: Int64) throws -> WorkerID
  /// Renews the worker's lease. False if the lease expired: its entries were reclaimed, and it must
  /// join again.
  func renew(_ workerID: WorkerID, at now: Int64) throws -> Bool
  /// Removes the worker. Entries that it still holds return to the queue with `line` appended to
  /// their history, and count a shared crash.
  func leave(_ workerID: WorkerID, line: String, at now: Int64) throws
  /// Whether the worker is still registered. Read-only.
  func knows(_ workerID: WorkerID) throws -> Bool
  /// Reclaims the entries of workers that are gone, or that sent no heartbeat since this time.
  /// Returns the number of entries. Entries that one process held together count a shared crash,
  /// see `CrashGroup`.
  func reclaim(silentSince: Int64, at now: Int64) throws -> Int

  /// Claims entries for about `room` notifications: due deferred entries first, then the others in
  /// queue order. With `inOrder`, an entry is blocked while the queue has an earlier entry for one
  /// of its devices or for its channel, whether or not a worker holds that. `isFree` means that the
  /// worker holds no entries, so it may get a group of suspects; while suspects wait, no other
  /// entries are handed out.
  func claim(
    _ workerID: WorkerID, room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) throws -> [Entry]
  /// Whether there may be entries to claim. Read-only.
  func isAnythingThere(app: String, at now: Int64) throws -> Bool
  /// Makes entries due that wait only because APNs failed (`ParkedTime`). Returns their
  /// number.
  func bringBack(app: String, at now: Int64) throws -> Int
  /// Records outcomes and updates their entries, atomically.
  func record(_ updates: [EntryUpdate], by workerID: WorkerID, at now: Int64) throws

  /// Adds entries atomically, except those with a known ID. Returns the number added.
  func enqueue(_ entries: [NewEntry], at now: Int64) throws -> Int

  /// Returns the known ones of these IDs.
  func known(_ ids: [String], app: String) throws -> [String: KnownEntry]

  /// Up to `most` recorded bad tokens with a higher number than this, by number. A token that is
  /// rejected again gets a new number.
  func badTokens(app: String, after number: Int64, most: Int) throws -> [BadToken]
  /// Records tokens as bad, and queues them for the feedback service.
  func recordBadTokens(_ devices: [GoneToken], app: String, at now: Int64) throws
  /// Removes bad tokens that were recorded before this time.
  func forgetBadTokens(before: Int64) throws -> Int
  /// Up to `most` devices to report through the app's feedback service, oldest first.
  func feedback(app: String, most: Int) throws -> [GoneToken]
  /// Removes reported devices. A device that was recorded again since, with a later time, stays.
  func forgetFeedback(_ told: [GoneToken], app: String) throws
  /// The last `most` recorded responses, oldest first.
  func lastResponses(app: String, most: Int) throws -> [RecordedResponse]
  /// A value that the relays share about an app; nil if it is not set.
  func appState(_ name: String, app: String) throws -> String?
  func setAppState(_ name: String, _ text: String?, app: String) throws
  /// Replaces the value if it still is `old`; false otherwise.
  func replaceAppState(_ name: String, _ old: String?, by text: String, app: String) throws -> Bool

  /// Leases this worker's quota of the `most` connections that the app's workers may have together.
  /// It keeps the `held` connections that are open now until it reports fewer, and can use up to
  /// `wanted`. Workers with notifications in hand (`isNeeded`) come first. nil if its lease
  /// expired.
  func leaseConnections(
    _ workerID: WorkerID, held: Int, wanted: Int, isNeeded: Bool, of most: Int
  ) throws -> Int?

  /// The provider token of a key, shared by all relays on the queue. If none was made after
  /// `oldest`, one relay makes a new one and blocks no other call. If it has not finished within
  /// `makingMS`, another relay takes over.
  func providerToken(
    team: String, key: String, madeAfter oldest: Int64, at now: Int64, within makingMS: Int64,
    make: () throws -> SharedToken
  ) throws -> SharedToken

  /// Removes outcomes from before this time, except those that a reader has not read yet.
  func trim(before: Int64) throws -> Int
  func depths(at now: Int64) throws -> [String: QueueDepth]
  /// Throws if the queue cannot be read or written, or accepts no more entries.
  func check() throws

  /// Called regularly to keep space for the outcomes of held entries. Reports no error: the call
  /// that needs the space does.
  func keepRoom()
  /// Whether calls wait for another program that blocks the queue. The wait is limited.
  var isHeldUp: Bool { get }
  /// Shortens all waits from now on, because the relay stops.
  func hurry()
}

extension QueueEngine {
  package var warnings: [String] { [] }
  package func keepRoom() {}
  package var isHeldUp: Bool { false }
  package func hurry() {}

  package func claim(_ workerID: WorkerID, room: Int, at now: Int64) throws -> [Entry] {
    try claim(workerID, room: room, inOrder: false, at: now)
  }

  package func claim(
    _ workerID: WorkerID, room: Int, inOrder: Bool, at now: Int64
  ) throws -> [Entry] {
    try claim(workerID, room: room, inOrder: inOrder, isFree: true, at: now)
  }
}

/// A worker's registration in the queue.
package struct WorkerID: Hashable, Sendable {
  package var number: Int64
  package var app: String
}

/// A token that APNs rejected permanently.
package struct BadToken: Equatable, Sendable {
  package var number: Int64
  /// The token in hex, as it was recorded.
  package var token: String
  /// UNIX milliseconds.
  package var at: Int64

  package init(number: Int64, token: String, at: Int64) {
    self.number = number
    self.token = token
    self.at = at
  }
}

/// A device without the app, and the UNIX second since when. The app was removed, or never
/// installed.
package struct GoneToken: Equatable, Sendable {
  package var token: String
  package var since: Int64

  package init(token: String, since: Int64) {
    self.token = token
    self.since = since
  }
}

/// A recorded response of APNs.
package struct RecordedResponse: Equatable, Sendable {
  package var httpStatus: Int
  package var reason: String

  package init(httpStatus: Int, reason: String) {
    self.httpStatus = httpStatus
    self.reason = reason
  }
}

/// The queue's record of an ID.
package struct KnownEntry: Equatable, Sendable {
  /// The token or the channel of an unfinished entry; nil if it is finished or has many tokens.
  package var target: String?
  /// The outcome of its first notification, or of a later one if it has many tokens; nil if none is
  /// recorded.
  package var outcome: PushOutcome?

  package init(target: String? = nil, outcome: PushOutcome? = nil) {
    self.target = target
    self.outcome = outcome
  }
}

/// The numbers of an app's entries in the queue.
package struct QueueDepth: Equatable, Sendable {
  /// Entries that no worker holds yet.
  package var ready = 0
  package var deferred = 0
  package var claimed = 0
  package var dead = 0
  /// The age of the oldest waiting entry.
  package var ageS = 0

  package init() {}
}

package struct SharedToken: Equatable, Sendable {
  package var text: String
  /// UNIX milliseconds.
  package var made: Int64

  /// The tolerated difference between clocks.
  private static let toleranceMS: Int64 = 2000

  /// A token from the future is not trusted: the clock was set back.
  package func isFresh(after oldest: Int64, at now: Int64) -> Bool {
    made > oldest && made <= now + Self.toleranceMS
  }
}
