import Logging

/// A worker's quota of the connections that all relays on a queue may have together for its app. It
/// is a lease, renewed continually: a worker that cannot reach the queue closes its connections
/// before its lease expires.
struct ConnectionQuota {
  private let most: Int
  private let wanted: Int
  private let leaseMS: Int64
  private(set) var count = 0
  /// Monotonic.
  private(set) var nextRenewal: Int64 = 0
  private var renewedAt: Int64 = 0

  /// nil without a limit.
  init?(_ app: AppConfiguration, leaseMS: Int64, _ session: ServiceSession) {
    guard app.limits.totalConnections > 0 else { return nil }
    most = app.limits.totalConnections
    wanted = app.limits.connections
    self.leaseMS = leaseMS
    session.limitConnections(to: 0)
  }

  /// The worker is idle, and claims no entries.
  var isEmpty: Bool { count == 0 }

  mutating func keep(
    _ queue: any ConnectionQuotaStore, _ workerID: WorkerID, isNeeded: Bool,
    _ session: ServiceSession,
    at now: Int64, _ log: Logger
  ) throws {
    if count > 0, now - renewedAt > leaseMS / 2 {
      log.warning("the connection quota has expired, because the queue was unreachable")
      count = 0
      session.limitConnections(to: 0)
    }
    guard now >= nextRenewal else { return }
    nextRenewal = now + max(50, min(1000, leaseMS / 4))
    let held = session.connectionCount
    let quota = try queue.leaseConnections(
      workerID, held: held, wanted: wanted, isNeeded: isNeeded, of: most)
    renewedAt = now
    let new = quota ?? 0
    if (new == 0) != (count == 0) {
      log.notice(
        new == 0
          ? "idle: other relays hold all \(most) connections"
          : "has \(new) of the \(most) connections")
    }
    count = new
    // Notifications in flight finish on the last connection, which still counts.
    session.limitConnections(to: quota == 0 && isNeeded ? min(1, held) : new)
  }
}
