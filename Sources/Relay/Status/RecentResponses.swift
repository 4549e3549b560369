import Synchronization

/// The response times of each app's session in the last hour, as a histogram.
final class RecentResponses: Sendable {
  /// The number of responses that took at most each bound, in seconds; the last bound is infinite.
  typealias Counts = [Double: Int]

  private struct Sample {
    var at: Int64
    var session: String
    var counts: Counts
  }

  private static let name = "apns_response_duration_seconds_bucket{"
  private static let everyMS: Int64 = 60_000
  private static let keptMS: Int64 = 3_600_000

  /// By app, oldest first, one a minute. Equal ones in a row are one sample, with the latest time.
  private let samples = Mutex<[String: [Sample]]>([:])

  /// `session` has the metrics of the app's session. Times are UNIX milliseconds.
  func note(_ app: String, session: String, at now: Int64) {
    samples.withLock { all in
      var kept = all[app] ?? []
      if let last = kept.last, now - last.at < Self.everyMS { return }
      let isSame = kept.last?.session == session
      let counts = isSame ? kept.removeLast().counts : Self.counts(session)
      // A new session counts from 0.
      if let last = kept.last, Self.total(counts) < Self.total(last.counts) { kept = [] }
      kept.append(Sample(at: now, session: session, counts: counts))
      kept.removeAll { now - $0.at > Self.keptMS }
      all[app] = kept
    }
  }

  /// The responses since the oldest sample, and its time.
  func recent(_ app: String, session: String) -> (since: Int64, counts: Counts)? {
    let counts = Self.counts(session)
    guard let first = samples.withLock({ $0[app]?.first }) else { return nil }
    guard Self.total(counts) >= Self.total(first.counts) else { return (first.at, counts) }
    return (first.at, counts.merging(first.counts, uniquingKeysWith: -))
  }

  private static func total(_ counts: Counts) -> Int { counts[.infinity] ?? 0 }

  private static func counts(_ session: String) -> Counts {
    var all: Counts = [:]
    for line in session.split(separator: "\n") where line.hasPrefix(name) {
      guard let label = line.firstRange(of: "le=\""), let end = line.lastIndex(of: "}"),
        let count = Int(line[end...].dropFirst(2))
      else { continue }
      let bound = line[label.upperBound...].prefix { $0 != "\"" }
      guard let seconds = bound == "+Inf" ? .infinity : Double(bound) else { continue }
      all[seconds, default: 0] += count
    }
    return all
  }
}
