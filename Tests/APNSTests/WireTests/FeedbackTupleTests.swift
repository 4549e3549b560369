import APNS
import Testing

/// The result for a feedback stream, as the vectors state it.
private struct FeedbackOutcome: Equatable {
  var tuples: [FeedbackVector.Tuple] = []
  /// Bytes of an incomplete tuple at the end.
  var rest = 0
  var fault: FeedbackVector.Fault?

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

  @Test func encodingAndDecodingGiveTheSame() {
    var random = SplitMix64(seed: Mutation.seed)
    for round in 0..<5_000 {
      let tuples = (0..<random.below(4)).map { _ in
        FeedbackVector.Tuple(
          timestamp: .random(in: 0 ... .max, using: &random),
          token: random.bytes(1 + random.below(100)))
      }
      let bytes = tuples.flatMap { encode($0) ?? [] }
      let outcome = FeedbackOutcome(reading: [bytes], in: memory)
      if outcome.tuples != tuples || outcome.rest != 0 || outcome.fault != nil {
        Issue.record("seed \(Mutation.seed), round \(round): \(outcome) of \(tuples)")
        return
      }
    }
  }

  @Test func survivesAnyBytes() throws {
    var mutation = Mutation(of: try Vectors.feedback().map(\.hex).filter { $0.count < 400 })
    var whole = 0
    for round in 0..<Mutation.rounds {
      let bytes = mutation.next()
      let run = memory.copy(bytes, at: .last)
      // Computed here by hand, for bytes that are in no vector.
      let length = bytes.count < 6 ? nil : Int(bytes[4]) * 256 + Int(bytes[5])
      var fault: String?
      do throws(WireError) {
        if let tuple = try FeedbackTuple.decode(run) {
          whole += 1
          let timestamp = bytes[..<4].reduce(UInt32(0)) { $0 * 256 + UInt32($1) }
          if tuple.timestamp != timestamp || length == 0
            || !tuple.token.elementsEqual(bytes[6...].prefix(length ?? 0))
            || tuple.token.count != length
          {
            fault = "\(tuple)"
          }
        } else if let length, bytes.count >= 6 + length {
          fault = "waits for what is there"
        }
      } catch {
        if length != 0 || error != WireError(.missingToken, at: 4) { fault = "\(error)" }
      }
      if let fault {
        Issue.record("seed \(Mutation.seed), round \(round): \(fault): \(bytes)")
        return
      }
    }
    #expect(whole > Mutation.rounds / 10)
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
