import Testing

@testable import APNS

/// The notification that an identifier of 0 means. The gateway uses it if it cannot name one.
@Suite struct ZeroTests {
  /// A window with one notification followed by a sentinel, which may not be written yet.
  private func decision(
    status: UInt8, zeroProves: Bool = false, hasUsualToken: Bool = true, sentinel: Bool = true,
    isWritten: Bool = true
  ) -> Window.Decision {
    let untaken = UnsafeMutablePointer<Untaken>.make(.each)!
    defer { untaken.end() }
    var window = Window(bytes: 16 << 10, untaken: untaken, zeroProves: zeroProves)!
    let place = window.reserve(20)!
    window.commit(
      place, size: 20, identifier: 1, userData: nil, hasUsualToken: hasUsualToken,
      due: .max)
    window.wrote(20)
    var last = Sentinel()
    if sentinel {
      last.begin(2, size: 10)
      last.wrote(isWritten ? 10 : 9)
    }
    let decision = window.errorPacket(status: status, identifier: 0, sentinel: last)
    // Proven notifications are accepted, and nothing else is.
    #expect(window.accepted == (decision == .proven ? 1 : 0))
    return decision
  }

  @Test func theMissingTokenIsTheSentinels() {
    #expect(decision(status: 2) == .proven)
    #expect(decision(status: 2, sentinel: false) == .ambiguous)
    #expect(decision(status: 2, isWritten: false) == .ambiguous)
  }

  @Test func theWrongSizeIsTheSentinelsWhereNoOtherTokenIsOdd() {
    #expect(decision(status: 5) == .proven)
    #expect(decision(status: 5, hasUsualToken: false) == .ambiguous)
    #expect(decision(status: 5, zeroProves: true, hasUsualToken: false) == .proven)
  }

  @Test(arguments: [8, 128] as [UInt8])
  func otherStatusesAreOnlyByOption(status: UInt8) {
    #expect(decision(status: status) == .ambiguous)
    #expect(decision(status: status, zeroProves: true) == .proven)
    #expect(decision(status: status, zeroProves: true, sentinel: false) == .ambiguous)
    #expect(decision(status: status, zeroProves: true, isWritten: false) == .ambiguous)
  }

  /// A shutdown names the last accepted notification, so with 0 there was none.
  @Test func aShutdownWithZeroHasNoneAccepted() {
    #expect(decision(status: 10) == .ambiguous)
    #expect(decision(status: 10, zeroProves: true) == .ambiguous)
  }
}

/// How often each notification was in flight when a connection ended without an error packet.
@Suite struct DoubtsTests {
  /// Compares with a separate count for each notification, in random order.
  @Test func theyAreThoseOfEach() {
    for seed in UInt64(1)...200 {
      var random = SplitMix64(seed: seed)
      var doubts = Doubts()
      var counts = [Int](repeating: 0, count: 300)
      var first = 0
      while first < counts.count {
        let written = Int.random(in: first...counts.count, using: &random)
        for position in first..<written { counts[position] += 1 }
        let fifth = doubts.add(from: first, to: written)
        let given = counts[first...].firstIndex { $0 < 5 } ?? counts.count
        #expect(max(fifth, first) == given)
        first = given
        for position in first..<counts.count {
          #expect(doubts.count(at: position) == counts[position])
        }
        if Bool.random(using: &random) { first += Int.random(in: 0...20, using: &random) }
      }
    }
  }

  /// A notification that was in doubt four times is sent alone, and one without doubt is
  /// never held back.
  @Test(arguments: [1, 10, 1000, 20_000, 1 << 24])
  func flightsGrowSmaller(count: Int) {
    var doubts = Doubts()
    #expect(doubts.flight(at: 0) == .max)
    var flights: [Int] = []
    for _ in 1...4 {
      _ = doubts.add(from: 0, to: min(count, flights.last ?? count))
      flights.append(doubts.flight(at: 0))
    }
    #expect(flights[3] == 1)
    #expect(flights[0] > flights[1] && flights[1] > flights[2] && flights[2] > 1)
    #expect(flights[0] * flights[2] >= count)
    #expect(doubts.flight(at: count) == .max)
  }
}
