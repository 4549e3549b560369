import Testing

@testable import APNS

@Suite struct ReadDelayTests {
  /// The delay after one wait that brought this many responses in this many ns.
  private func pause(inFlight: Int, responses: UInt64, in span: Int64) -> Int64 {
    var gathering = ReadDelay()
    _ = gathering.pause(inFlight: inFlight, responses: 7, at: 5_000_000)
    return gathering.pause(inFlight: inFlight, responses: 7 &+ responses, at: 5_000_000 + span)
  }

  @Test func lastsUntilA32ndHasItsResponse() {
    #expect(pause(inFlight: 960, responses: 5, in: 40_000) == 240_000)
    #expect(pause(inFlight: 320, responses: 5, in: 40_000) == 80_000)
  }

  @Test func gathers32AtMost() {
    #expect(pause(inFlight: 100_000, responses: 5, in: 40_000) == 256_000)
  }

  @Test func lasts300MicrosecondsAtMost() {
    #expect(pause(inFlight: 1000, responses: 1, in: 70_000) == 300_000)
  }

  /// Fewer than four responses would arrive during the delay.
  @Test func isZeroForSlowResponses() {
    #expect(pause(inFlight: 1000, responses: 1, in: 76_000) == 0)
    #expect(pause(inFlight: 1000, responses: 1, in: 3_600_000_000_000) == 0)
  }

  @Test func isZeroIfFewAreInFlight() {
    #expect(pause(inFlight: 127, responses: 5, in: 100_000) == 0)
    #expect(pause(inFlight: 128, responses: 5, in: 100_000) == 80_000)
    #expect(pause(inFlight: 0, responses: 5, in: 100_000) == 0)
  }

  /// There are few reads anyway.
  @Test func isZeroForManyTogether() {
    #expect(pause(inFlight: 1000, responses: 126, in: 1_260_000) == 0)
    #expect(pause(inFlight: 1000, responses: 125, in: 1_125_000) == 279_000)
  }

  @Test func isZeroForVeryFastResponses() {
    #expect(pause(inFlight: 1000, responses: 100, in: 160_000) == 0)
  }

  @Test func isZeroWithoutResponses() {
    #expect(pause(inFlight: 1000, responses: 0, in: 50_000) == 0)
    #expect(pause(inFlight: 1000, responses: .max, in: 50_000) == 0)
  }

  @Test(arguments: [0, -1, Int64.max, .min])
  func takesAnyClock(_ span: Int64) {
    var gathering = ReadDelay()
    _ = gathering.pause(inFlight: .max, responses: 0, at: 0)
    #expect((0...300_000).contains(gathering.pause(inFlight: .max, responses: 1, at: span)))
    #expect((0...300_000).contains(gathering.pause(inFlight: .max, responses: 3, at: 0)))
  }
}
