/// A queue's entries, the workers that hold them, and their outcomes.
package protocol EntryQueue: AnyObject, Sendable {
  /// Registers one more worker of this app. It keeps its entries while it sends heartbeats.
  func join(app: String, named: String, at now: Int64) throws -> WorkerID
  /// Renews the worker's lease. False if the lease expired: its entries were reclaimed, and it must
  /// join again.
  func renew(_ workerID: WorkerID, at now: Int64) throws -> Bool
  /// Renews many leases at once. Returns the workers whose lease had expired.
  func renew(_ workerIDs: [WorkerID], at now: Int64) throws -> Set<WorkerID>
  /// Removes the worker. Entries that it still holds return to the queue with `line` appended to
  /// their history, and count a shared crash.
  func leave(_ workerID: WorkerID, line: String, at now: Int64) throws
  /// The registered workers of an app, oldest first. Read-only.
  func workers(app: String, at now: Int64) throws -> [RegisteredWorker]
  /// Whether the worker is still registered. Read-only.
  func knows(_ workerID: WorkerID) throws -> Bool
  /// Reclaims the entries of workers that are gone, or that sent no heartbeat since this time.
  /// Returns the number of entries. Entries that one process held together count a shared crash,
  /// see `CrashGroup`.
  func reclaim(silentSince: Int64, at now: Int64) throws -> Int

  /// Claims entries of these lanes for about `room` notifications, one lane after the other: due
  /// deferred entries first, then the others in queue order. With `inOrder`, an entry is blocked
  /// while the queue has an earlier entry of its lane for one of its devices or for its channel,
  /// whether or not a worker holds that. `isFree` means that the worker holds no entries, so it may
  /// get a group of suspects, of any lane; while suspects wait, no other entries are handed out.
  func claim(
    _ workerID: WorkerID, lanes: [Lane], room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) throws -> [Entry]
  /// Whether entries of this app may be in the queue, whatever they wait for. Read-only.
  func hasEntries(app: String) throws -> Bool
  /// Whether there may be entries to claim. Read-only.
  func isAnythingThere(app: String, at now: Int64) throws -> Bool
  /// When there may be entries of these lanes to claim; nil if none waits for a time. Read-only.
  func nextDue(app: String, lanes: [Lane], at now: Int64) throws -> Int64?
  /// Makes entries due that wait only because APNs failed (`ParkedTime`). Returns their
  /// number.
  func bringBack(app: String, at now: Int64) throws -> Int
  /// Records outcomes and updates their entries, atomically.
  func record(_ updates: [EntryUpdate], by workerID: WorkerID, at now: Int64) throws

  /// Adds entries atomically, except those with a known ID. Returns the number added.
  func enqueue(_ entries: [NewEntry], at now: Int64) throws -> Int

  /// Returns the known ones of these IDs.
  func known(_ ids: [String], app: String) throws -> [String: KnownEntry]

  /// Removes outcomes from before this time, except those that a reader has not read yet.
  func trim(before: Int64) throws -> Int
  func depths(at now: Int64) throws -> [String: QueueDepth]
}

extension EntryQueue {
  package func renew(_ workerIDs: [WorkerID], at now: Int64) throws -> Set<WorkerID> {
    try Set(workerIDs.filter { try !renew($0, at: now) })
  }

  /// Whether a running worker of this app sent a heartbeat within this time. Read-only.
  package func isServed(_ app: String, withinMS: Int64, at now: Int64) throws -> Bool {
    try workers(app: app, at: now).contains { $0.isRunning && $0.silentMS <= withinMS }
  }
}

/// A worker's registration in the queue.
package struct WorkerID: Hashable, Sendable {
  package var number: Int64
  package var app: String
}

/// A worker that others see in the queue.
package struct RegisteredWorker: Equatable, Sendable {
  package var number: Int64
  /// The relay's machine and process.
  package var name: String
  /// How long ago its last heartbeat was.
  package var silentMS: Int64
  /// False if its process has certainly ended, and its entries are not reclaimed yet.
  package var isRunning: Bool
  /// The connections of its quota; nil without `total_connections`.
  package var connections: Int?
}

/// The queue's record of an ID.
package struct KnownEntry: Equatable, Sendable {
  /// The token or the channel of an unfinished entry; nil if it is finished or has many tokens.
  package var target: String?
  /// The outcome of its first notification, or of a later one if it has many tokens; nil if none is
  /// recorded.
  package var outcome: PushOutcome?
}

/// The numbers of an app's entries in the queue.
package struct QueueDepth: Equatable, Sendable {
  /// Entries that no worker holds yet.
  package struct Waiting: Equatable, Sendable {
    package var count = 0
    /// The age of the oldest one.
    package var ageS = 0
  }

  package var waiting: [Lane: Waiting] = [:]
  package var deferred = 0
  package var paused = 0
  /// They wait for the limit of their campaign.
  package var paced = 0
  package var claimed = 0
  package var dead = 0

  package var ready: Int { waiting.values.reduce(0) { $0 + $1.count } }
  package var ageS: Int { waiting.values.map(\.ageS).max() ?? 0 }
}
