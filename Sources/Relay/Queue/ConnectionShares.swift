/// Divides an app's connections among its workers: equal quotas, up to what each worker wants.
struct ConnectionShares {
  struct Want {
    var worker: Int64
    var count: Int
    /// Whether the worker has notifications in hand.
    var isNeeded: Bool
  }

  private var shares: [Int64: Int] = [:]

  init(_ wants: [Want], of most: Int) {
    let turns = wants.sorted { ($0.isNeeded ? 0 : 1, $0.worker) < ($1.isNeeded ? 0 : 1, $1.worker) }
    var left = most
    while left > 0 {
      let before = left
      for want in turns where left > 0 && shares[want.worker, default: 0] < want.count {
        shares[want.worker, default: 0] += 1
        left -= 1
      }
      if left == before { break }
    }
  }

  func share(of worker: Int64) -> Int { shares[worker] ?? 0 }
}
