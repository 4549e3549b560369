import BinaryServer
import NIOCore
import Simulator
import Testing

@Suite struct FeedbackTests {
  @Test func tellsItsListOnce() async throws {
    let (totals, _) = try await Stage.run {
      $0.feedback = [
        FeedbackEntry(timestamp: 1_300_000_000, token: Frames.token),
        FeedbackEntry(timestamp: 5, token: [1, 2]),
      ]
    } _: { stage in
      let story = try await stage.feedbackReader().end()
      #expect(
        story.bytes == Frames.u32(1_300_000_000) + Frames.u16(32) + Frames.token + Frames.u32(5)
          + Frames.u16(2) + [1, 2])
      #expect(story.isClean)
      let again = try await stage.feedbackReader().end()
      #expect(again.bytes.isEmpty)
      #expect(again.isClean)
    }
    #expect(totals.feedbackConnections == 2)
    #expect(totals.feedbackTuples == 2)
  }

  @Test func endsRecordsWhereTuplesEnd() async throws {
    try await Stage.run {
      $0.feedback = (0..<3000).map { FeedbackEntry(timestamp: $0, token: Frames.token) }
    } _: { stage in
      let story = try await stage.feedbackReader().end()
      #expect(story.bytes.count == 3000 * 38)
      #expect(story.records.count > 1)
      #expect(story.records.allSatisfy { $0 % 38 == 0 })
      #expect(story.records.reduce(0, +) == story.bytes.count)
    }
  }
}
