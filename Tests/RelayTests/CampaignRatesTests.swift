import Testing

@testable import Relay

/// What a worker holds of campaigns with a limit.
@Suite struct CampaignRatesTests {
  private var rates = CampaignRates()
  private let unsent = UnsentEntries()
  private let place: SQLitePlace
  private let queue: any QueueEngine

  init() throws {
    place = try SQLitePlace()
    queue = try place.open()
  }

  private func held(_ count: Int, of campaign: String = "sale", _ lane: Lane = .bulk) -> HeldEntry {
    let tokens = (0..<count).map { _ in "\"00\"" }.joined(separator: ",")
    var content = NewEntry(
      app: "shop", id: "i", tokens: "[\(tokens)]", payload: "{}", lane: lane)
    content.campaign = campaign
    return HeldEntry(
      Entry(number: 1, content: content, deliveries: 1, deferrals: 0, resolved: []))
  }

  /// Whether it is kept.
  private mutating func add(_ count: Int, of campaign: String = "sale") -> Bool {
    let entry = held(count, of: campaign)
    entry.bucket = campaign
    let isKept = rates.keeps(count, of: campaign, having: unsent.count(of: campaign))
    if isKept { unsent.append(entry) }
    return isKept
  }

  private mutating func send(_ count: Int) {
    for _ in 0..<count {
      guard let entry = unsent.next?.held else { return }
      entry.cursor += 1
      unsent.sent(1, passed: 1, of: entry)
      if entry.cursor == entry.count { unsent.removeFirst(of: entry.lane) }
    }
  }

  /// Puts entries into the queue that wait for the limit.
  private func park(_ count: Int, of campaign: String = "sale") throws {
    _ = try queue.enqueue(
      (0..<count).map {
        var entry = NewEntry(app: "shop", id: "\(campaign)-\($0)", token: "00", payload: "{}")
        entry.campaign = campaign
        return entry
      }, at: 0)
    let workerID = try queue.join(app: "shop", named: "w", at: 0)
    let got = try queue.claim(workerID, room: count, at: 0)
    try queue.record(
      got.map { EntryUpdate($0, [], .released(at: PacedTime.of(campaign))) }, by: workerID, at: 0)
  }

  private mutating func refill(
    room: Int = 1000, lanes: [Lane] = Lane.allCases, except: String = "", at now: Int64
  ) throws -> Bool {
    try rates.refill(
      queue, app: "shop", lanes: lanes, room: room, unsent, except: { $0 == except }, at: now)
  }

  private var due: Int { get throws { try queue.depths(at: 0)["shop"]?.ready ?? 0 } }

  @Test mutating func itHoldsWhatIsSentInTwoSeconds() throws {
    #expect(rates.follow(["sale": 50]) == [])
    for _ in 0..<10 { #expect(add(10)) }
    #expect(!add(1) && unsent.count(of: "sale") == 100)
    // The waiting entries come first.
    send(30)
    #expect(!add(1))
    send(20)
    #expect(try !refill(at: 0))
    #expect(add(1))
  }

  @Test mutating func anEntryMayHaveMore() throws {
    _ = rates.follow(["sale": 5])
    #expect(add(500) && !add(1))
    send(495)
    #expect(try !refill(at: 0))
    #expect(add(500) && !add(500))
  }

  @Test mutating func itGetsWhatIsLacking() throws {
    _ = rates.follow(["sale": 50, "other": 50])
    try park(300)
    #expect(add(1))
    #expect(try refill(lanes: [.urgent, .bulk], at: 0) == false)
    #expect(try refill(except: "sale", at: 10_000) == false)
    #expect(try refill(room: 40, at: 20_000) && due == 40)
    // Soon again, because others may have got them.
    #expect(try !refill(at: 20_005) && due == 40)
    #expect(try refill(at: 20_010) && due == 139)
    for _ in 0..<59 { _ = add(1) }
    #expect(try !refill(at: 30_000) && due == 139)
  }

  /// The campaign has ended, or others send it.
  @Test mutating func itAsksLessOftenForNothing() throws {
    _ = rates.follow(["sale": 50])
    var (asked, now): ([Int64], Int64) = ([], 1)
    var last = try queueReads(at: 0)
    while now < 40_000 {
      let reads = try queueReads(at: now)
      if reads != last { asked.append(now) }
      (last, now) = (reads, now + 100)
    }
    #expect(asked.count <= 8, "\(asked)")
    // It can claim at once the entries that it gave back.
    try park(1)
    for _ in 0..<100 { _ = add(1) }
    #expect(!add(1))
    send(50)
    #expect(try refill(at: now) && due == 1)
  }

  private mutating func queueReads(at now: Int64) throws -> Int {
    let counted = Counted(queue)
    _ = try rates.refill(
      counted, app: "shop", lanes: Lane.allCases, room: 10, unsent, except: { _ in false }, at: now)
    reads += counted.reads
    return reads
  }

  private var reads = 0

  private final class Counted: CampaignStore, @unchecked Sendable {
    let queue: any QueueEngine
    var reads = 0
    init(_ queue: any QueueEngine) { self.queue = queue }

    func advance(
      limited campaign: String, app: String, lanes: [Lane], upTo count: Int
    ) throws -> Int {
      reads += 1
      return try queue.advance(limited: campaign, app: app, lanes: lanes, upTo: count)
    }
    func campaignOutcomes(app: String) -> [String: CampaignOutcomes] { [:] }
    func left(_ choice: EntryChoice, app: String) -> [String: EntriesLeft] { [:] }
    func advance(app: String, exceptLimited limited: Set<String>) -> Int { 0 }
    func advance(
      app: String, cancelled: [EntryChoice], paused: Set<String>, at now: Int64
    ) -> Int { 0 }
  }

  @Test mutating func limitsChangeAndEnd() throws {
    _ = rates.follow(["a": 50, "b": 50])
    for _ in 0..<100 { _ = add(1, of: "a") }
    #expect(!add(1, of: "a"))
    #expect(rates.follow(["a": 100]) == ["b"])
    #expect(rates.limits("a") && !rates.limits("b"))
    #expect(add(100, of: "a") && !add(1, of: "a"))
    #expect(rates.follow([:]) == ["a"] && rates.isEmpty)
    #expect(add(1000, of: "a"))
  }
}
