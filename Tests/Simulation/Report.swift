/// Situations that the runs have met. They show that the runs reach everything.
enum Met: Int, CaseIterable {
  case notifications, singles, arrays, connections, spares, sparesUsed
  case refusedConnects, failedHandshakes, deadAddresses, openingTimeouts, refusals
  case rejections, shutdowns, sentinels, sentinelsNamed, sentinelsUnnamed, sentinelsInDoubt
  case nameless, strangers, noises, silentGoodbyes, silentResets, cutPackets, splitPackets
  case brokenWrites, stalls, heldBack, writeTimeouts, answerTimeouts, renegotiations, lapses
  case ambiguousEnds, poison, givenUp, resends, duplicates
  case fullWindows, fullOfOutcomes, failedSends, deadlines, delays, rounds
  case acceptedEvents, rejectedEvents, unknownEvents, forgotten, cancellations, cancelledEvents
  case calledBack
  case pushes, pushesInDoubt, expiredEvents, dueInDoubt
  case drains, closes, closesUndrained, frees, renewals
  case processed, gentleGoodbyes, goodbyes, goodbyesAtOnce, breaches, breachesHeard, blackHoles
  case refusedStreams, resets, cancels, unanswered, settings, pings, probes, pingTimeouts, lefts
  case newTokens, staleTokens, lackingTokens, pauses

  var text: String {
    switch self {
    case .notifications: "notifications taken"
    case .singles: "sent one by one"
    case .arrays: "arrays sent"
    case .connections: "connections begun"
    case .spares: "standby connections begun"
    case .sparesUsed: "standby connections used"
    case .refusedConnects: "connects refused"
    case .failedHandshakes: "handshakes failed"
    case .deadAddresses: "addresses that did not answer"
    case .openingTimeouts: "openings timed out"
    case .refusals: "ends: the provider turned down"
    case .rejections: "ends: a rejection"
    case .shutdowns: "ends: shutdown, named"
    case .sentinels: "sentinels arrived"
    case .sentinelsNamed: "ends: sentinel, named"
    case .sentinelsUnnamed: "ends: sentinel, as 0"
    case .sentinelsInDoubt: "ends: sentinel, as 0, in doubt"
    case .nameless: "ends: packet for 0"
    case .strangers: "ends: packet for a stranger"
    case .noises: "ends: noise"
    case .silentGoodbyes: "ends: GOAWAY, no packet"
    case .silentResets: "ends: reset, no packet"
    case .cutPackets: "packets cut off"
    case .splitPackets: "packets read in pieces"
    case .brokenWrites: "writes that broke"
    case .stalls: "stalls"
    case .heldBack: "waits behind rejections"
    case .writeTimeouts: "ends: write timed out"
    case .answerTimeouts: "ends: no answer in time"
    case .renegotiations: "writes that had to read"
    case .lapses: "lapses of the process"
    case .ambiguousEnds: "ambiguous ends in flight"
    case .poison: "given up by itself"
    case .givenUp: "given up, all in doubt"
    case .resends: "sendings again"
    case .duplicates: "duplicates accepted"
    case .fullWindows: "sends into a full window"
    case .fullOfOutcomes: "refused: full of outcomes"
    case .failedSends: "sends that failed otherwise"
    case .deadlines: "calls that ran out of time"
    case .delays: "calls to be made again"
    case .rounds: "identifiers come round"
    case .acceptedEvents: "events: accepted"
    case .rejectedEvents: "events: rejected"
    case .unknownEvents: "events: unknown"
    case .forgotten: "accepted outcomes that gave way"
    case .cancellations: "cancelled at once"
    case .cancelledEvents: "events: cancelled"
    case .expiredEvents: "events: expired"
    case .calledBack: "events by on_outcome"
    case .dueInDoubt: "events: unknown behind a deadline"
    case .pushes: "pushes that returned an outcome"
    case .pushesInDoubt: "pushes whose end was not known in time"
    case .drains: "drains that came to an end"
    case .closes: "closes after a drain"
    case .closesUndrained: "closes without a drain"
    case .frees: "sessions freed and not closed"
    case .processed: "requests processed"
    case .gentleGoodbyes: "GOAWAY in two steps"
    case .goodbyes: "GOAWAY in one step"
    case .goodbyesAtOnce: "GOAWAY and the end at once"
    case .breaches: "breaches of the rules"
    case .breachesHeard: "ends: a breach of the rules"
    case .blackHoles: "services that vanished"
    case .refusedStreams: "streams refused"
    case .resets: "streams reset otherwise"
    case .cancels: "streams given up"
    case .unanswered: "streams never answered"
    case .settings: "settings changed"
    case .pings: "pings"
    case .probes: "pings beside streams"
    case .pingTimeouts: "ends: no answer to a ping"
    case .lefts: "ends: left with nothing owed"
    case .newTokens: "provider tokens made"
    case .staleTokens: "provider tokens refused"
    case .lackingTokens: "provider tokens asked for in vain"
    case .renewals: "credentials renewed"
    case .pauses: "pauses for answers to gather"
    }
  }

  /// Situations of only one of the protocols. Both meet all the others.
  private static let ofBinary: Set<Met> = [
    .spares, .sparesUsed, .rejections, .shutdowns, .sentinels, .sentinelsNamed,
    .sentinelsUnnamed, .sentinelsInDoubt, .nameless, .strangers, .noises, .cutPackets,
    .splitPackets, .heldBack, .poison, .givenUp, .fullWindows,
  ]
  private var isOfHTTP2: Bool { rawValue >= Met.processed.rawValue }

  static func all(of name: String) -> [Met] {
    allCases.filter { name == "http2" ? !ofBinary.contains($0) : !$0.isOfHTTP2 }
  }
}

/// Counts of what one thread or all threads met.
struct Report {
  private(set) var counts = [Int](repeating: 0, count: Met.allCases.count)
  private(set) var statuses = [Int](repeating: 0, count: 1000)
  var seeds = 0
  var steps = 0
  var longestCall = 0

  mutating func add(_ met: Met, _ count: Int = 1) { counts[met.rawValue] += count }

  mutating func add(status: Int) { statuses[status] += 1 }

  mutating func add(_ other: Report) {
    for index in counts.indices { counts[index] += other.counts[index] }
    for index in statuses.indices { statuses[index] += other.statuses[index] }
    seeds += other.seeds
    steps += other.steps
    longestCall = max(longestCall, other.longestCall)
  }

  func tell(_ name: String) {
    let all = Met.all(of: name)
    let width = Met.allCases.map(\.text.count).max() ?? 0
    for met in all {
      print(padded(met.text, width) + "  \(counts[met.rawValue])")
    }
    let heard = statuses.indices.filter { statuses[$0] > 0 }
    print(
      padded(name == "http2" ? "answers by status" : "error packets by status", width) + "  "
        + heard.map { "\($0): \(statuses[$0])" }.joined(separator: ", "))
    print(padded("steps in the longest call", width) + "  \(longestCall) of \(Call.mostSteps)")
  }

  private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
