/// The connections that the relays on a queue divide among them.
package protocol ConnectionQuotaStore: AnyObject, Sendable {
  /// Leases this worker's quota of the `most` connections that the app's workers may have together.
  /// It keeps the `held` connections that are open now until it reports fewer, and can use up to
  /// `wanted`. Workers with notifications in hand (`isNeeded`) come first. nil if its lease
  /// expired.
  func leaseConnections(
    _ workerID: WorkerID, held: Int, wanted: Int, isNeeded: Bool, of most: Int
  ) throws -> Int?
}

/// Divides an app's connections among its workers: equal quotas, up to what each worker wants.
struct ConnectionQuotas {
  struct Want {
    var worker: Int64
    var count: Int
    /// Whether the worker has notifications in hand.
    var isNeeded: Bool
  }

  private var quotas: [Int64: Int] = [:]

  init(_ wants: [Want], of most: Int) {
    let turns = wants.sorted { ($0.isNeeded ? 0 : 1, $0.worker) < ($1.isNeeded ? 0 : 1, $1.worker) }
    var left = most
    while left > 0 {
      let before = left
      for want in turns where left > 0 && quotas[want.worker, default: 0] < want.count {
        quotas[want.worker, default: 0] += 1
        left -= 1
      }
      if left == before { break }
    }
  }

  func quota(of worker: Int64) -> Int { quotas[worker] ?? 0 }
}
