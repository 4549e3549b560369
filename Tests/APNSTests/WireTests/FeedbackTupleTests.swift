import APNS
import Testing

/// The result for a feedback stream, as the vectors state it.
private struct FeedbackOutcome: Equatable {
  var tuples: [FeedbackVector.Tuple] = []
  /// Bytes of an incomplete tuple at the end.
  var rest = 0
  var fault: ByteFault?

  /// Reads a stream in pieces like a provider: removes complete tuples and keeps the rest.
  init(reading pieces: [some Collection<UInt8>], in memory: GuardedMemory) {
    var waiting: [UInt8] = []
    for piece in pieces {
      waiting += piece
      do throws(WireError) {
        while let tuple = try FeedbackTuple.decode(memory.copy(waiting, at: .last)) {
          tuples.append(.init(timestamp: tuple.timestamp, token: Array(tuple.token)))
          waiting.removeFirst(6 + tuple.token.count)
        }
      } catch {
        fault = .init(reason: "\(error.reason)", offset: error.offset)
        return
      }
    }
    rest = waiting.count
  }

  init(_ vector: FeedbackVector) {
    (tuples, rest, fault) = (vector.tuples, vector.rest ?? 0, vector.error)
  }
}

@Suite struct FeedbackTupleTests {
  private let memory = GuardedMemory(capacity: FeedbackTuple.maxSize)

  @Test(arguments: try Vectors.feedback())
  func readsItByteByByte(_ vector: FeedbackVector) {
    let outcome = FeedbackOutcome(reading: vector.hex.map { [$0] }, in: memory)
    #expect(outcome == FeedbackOutcome(vector))
  }

  @Test(arguments: try Vectors.feedback())
  func readsItCutAnywhere(_ vector: FeedbackVector) {
    for cut in 0...vector.hex.count {
      let pieces = [vector.hex[..<cut], vector.hex[cut...]]
      let outcome = FeedbackOutcome(reading: pieces, in: memory)
      if outcome != FeedbackOutcome(vector) {
        Issue.record("cut at \(cut): \(outcome)")
        return
      }
    }
  }

  /// A tuple is reported with its last byte, and an error with the length field.
  @Test func hasNoResultTooEarly() throws {
    let tuple: [UInt8] = [0, 0, 0, 1, 0, 2, 0xAA, 0xBB]
    for count in 0..<tuple.count {
      #expect(try FeedbackTuple.decode(memory.copy(tuple.prefix(count), at: .last)) == nil)
    }
    #expect(try FeedbackTuple.decode(memory.copy(tuple, at: .last)) != nil)

    let empty: [UInt8] = [0, 0, 0, 1, 0, 0]
    #expect(try FeedbackTuple.decode(memory.copy(empty.prefix(5), at: .last)) == nil)
    #expect(throws: WireError(.missingToken, at: 4)) {
      try FeedbackTuple.decode(memory.copy(empty, at: .last))
    }
  }

  @Test func nullIsEmpty() throws {
    #expect(try FeedbackTuple.decode(UnsafeRawBufferPointer(start: nil, count: 0)) == nil)
  }

  @Test(arguments: try Vectors.feedback().filter { $0.result == .valid })
  func writesTheVectorsBytes(_ vector: FeedbackVector) {
    let bytes = vector.tuples.flatMap { encode($0) ?? [] }
    #expect(bytes == vector.hex)
  }

  @Test func theLongestTokenIsRead() throws {
    let tuple = FeedbackVector.Tuple(
      timestamp: .max, token: [UInt8](repeating: 0xA5, count: 0xFFFF))
    let bytes = try #require(encode(tuple))
    #expect(bytes.count == FeedbackTuple.maxSize)
    #expect(FeedbackOutcome(reading: [bytes], in: memory).tuples == [tuple])
  }

  @Test func refusesATokenThatDoesNotFitItsField() {
    #expect(encode(.init(timestamp: 1, token: [UInt8](repeating: 1, count: 0x10000))) == nil)
  }

  /// The tuple's bytes, written against a guard.
  private func encode(_ tuple: FeedbackVector.Tuple) -> [UInt8]? {
    tuple.token.withUnsafeBytes { token in
      let tuple = FeedbackTuple(timestamp: tuple.timestamp, token: token)
      guard let size = tuple.size else { return nil }
      let room = memory.room(size, at: .last)
      tuple.encode(into: room.baseAddress!)
      return Array(room)
    }
  }
}
