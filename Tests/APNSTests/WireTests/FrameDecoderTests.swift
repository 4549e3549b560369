import APNS
import Testing

/// The result for a run of bytes, as the vectors state it.
enum FrameOutcome: Equatable {
  case frame(FrameVector.Frame)
  case fault(reason: String, offset: Int, identifier: UInt32?, status: UInt8)
  case incomplete

  init(decoding run: UnsafeRawBufferPointer, limits: FrameLimits = FrameLimits()) {
    do throws(WireError) {
      guard let frame = try FrameDecoder.decode(run, limits: limits) else {
        self = .incomplete
        return
      }
      self = .frame(FrameVector.Frame(frame))
    } catch {
      self = .fault(
        reason: "\(error.reason)", offset: error.offset, identifier: error.identifier,
        status: error.reject)
    }
  }
}

extension FrameVector.Frame {
  init(_ frame: APNS.Frame) {
    let notification = frame.notification
    self.init(
      command: frame.command.rawValue, token: Array(notification.token),
      payload: Array(notification.payload), identifier: notification.identifier,
      expiry: notification.expiry, priority: notification.priority, length: frame.length)
  }
}

extension FrameVector {
  var expected: FrameOutcome {
    if let frame { return .frame(frame) }
    guard let error else { return .incomplete }
    return .fault(
      reason: error.reason, offset: error.offset, identifier: error.identifier,
      status: error.status)
  }

  /// The number of bytes that decides the result.
  var known: Int { frame?.length ?? error?.after ?? Int.max }

  var frameLimits: FrameLimits {
    var limits = FrameLimits()
    if let maximum = self.limits?.legacyPayload { limits.legacyPayload = maximum }
    if let maximum = self.limits?.framedPayload { limits.framedPayload = maximum }
    return limits
  }
}

@Suite struct FrameDecoderTests {
  @Test(arguments: try Vectors.frames())
  func decodes(_ vector: FrameVector) {
    let memory = GuardedMemory()
    for side in GuardedMemory.Side.allCases {
      let run = memory.copy(vector.hex, at: side)
      #expect(FrameOutcome(decoding: run, limits: vector.frameLimits) == vector.expected)
    }
  }

  /// Wherever the bytes are split, no result comes too early, and no later byte changes it.
  @Test(arguments: try Vectors.frames())
  func saysNothingTooEarlyAndNothingTooLate(_ vector: FrameVector) {
    let memory = GuardedMemory()
    for count in 0...vector.hex.count {
      let run = memory.copy(vector.hex.prefix(count), at: .last)
      let expected = count < vector.known ? FrameOutcome.incomplete : vector.expected
      let outcome = FrameOutcome(decoding: run, limits: vector.frameLimits)
      if outcome != expected {
        Issue.record("after \(count) bytes: \(outcome), expected \(expected)")
        return
      }
    }
  }

  @Test func nullIsNotYetAFrame() {
    #expect(
      FrameOutcome(decoding: UnsafeRawBufferPointer(start: nil, count: 0)) == .incomplete)
  }

  @Test func framesOfAStreamAreDecodedInOrder() throws {
    let frames = try Vectors.frames().filter { $0.frame != nil && $0.limits == nil }
    let stream = frames.flatMap { $0.hex.prefix($0.known) }
    let memory = GuardedMemory(capacity: stream.count)
    var random = SplitMix64(seed: Mutation.seed)

    for _ in 0..<20 {
      var taken = 0
      var (start, end) = (0, 0)
      while end < stream.count {
        end = min(stream.count, end + 1 + random.below(600))
        while case .frame(let frame) = FrameOutcome(
          decoding: memory.copy(stream[start..<end], at: .last))
        {
          if taken < frames.count, frames[taken].frame != frame {
            Issue.record("seed \(Mutation.seed): \(frame) for \(frames[taken].name)")
            return
          }
          taken += 1
          start += frame.length
        }
      }
      #expect(taken == frames.count, "seed \(Mutation.seed)")
      #expect(start == stream.count, "seed \(Mutation.seed)")
    }
  }

  /// The order of items is free, and items 3, 4 and 5 may be missing.
  @Test func itemsMayHaveAnyOrder() {
    let token: [UInt8] = [0xA1, 0xA2, 0xA3]
    let items: [[UInt8]] = [
      [1, 0, 3] + token, [2, 0, 2, 0x7B, 0x7D], [3, 0, 4, 0, 0, 0, 9], [4, 0, 4, 1, 2, 3, 4],
      [5, 0, 1, 5],
    ]
    let memory = GuardedMemory()
    var tried = 0

    func arrange(_ chosen: [Int]) {
      if chosen.contains(0), chosen.contains(1) {
        let body = chosen.flatMap { items[$0] }
        let bytes = [2, 0, 0, 0, UInt8(body.count)] + body
        let expected = FrameVector.Frame(
          command: 2, token: token, payload: [0x7B, 0x7D],
          identifier: chosen.contains(2) ? 9 : nil,
          expiry: chosen.contains(3) ? 0x0102_0304 : nil, priority: chosen.contains(4) ? 5 : nil,
          length: bytes.count)
        let outcome = FrameOutcome(decoding: memory.copy(bytes, at: .last))
        #expect(outcome == .frame(expected), "items \(chosen.map { $0 + 1 })")
        tried += 1
      }
      for next in items.indices where !chosen.contains(next) { arrange(chosen + [next]) }
    }
    arrange([])
    #expect(tried == 2 + 3 * 6 + 3 * 24 + 120)
  }

  @Test func limitsAreThoseOfTheGateway() {
    let limits = FrameLimits(token: 32...32, legacyPayload: 2, framedPayload: 3)
    let memory = GuardedMemory()
    for (command, maximum) in [(UInt8(0), 2), (1, 2), (2, 3)] {
      for token in 31...33 {
        for payload in 1...4 {
          let bytes = frame(command, token: token, payload: payload)
          let outcome = FrameOutcome(decoding: memory.copy(bytes, at: .last), limits: limits)
          switch outcome {
          case .frame: #expect(token == 32 && payload <= maximum)
          case .fault("tokenSize", _, _, 5): #expect(token != 32)
          case .fault("payloadSize", _, _, 7): #expect(token == 32 && payload > maximum)
          default: Issue.record("\(outcome)")
          }
        }
      }
    }
  }

  private func frame(_ command: UInt8, token: Int, payload: Int) -> [UInt8] {
    let token = [UInt8](repeating: 0xA5, count: token)
    let payload = [UInt8](repeating: 0x31, count: payload)
    let tokenRun = [0, UInt8(token.count)] + token
    let payloadRun = [0, UInt8(payload.count)] + payload
    switch command {
    case 0: return [0] + tokenRun + payloadRun
    case 1: return [1, 0, 0, 0, 1, 0, 0, 0, 0] + tokenRun + payloadRun
    default:
      let items = [1] + tokenRun + [2] + payloadRun
      return [2, 0, 0, 0, UInt8(items.count)] + items
    }
  }

  /// For any input, no byte outside the run is read, and the results are consistent.
  @Test func survivesAnyBytes() throws {
    var mutation = Mutation(of: try Vectors.frames().map(\.hex))
    let memory = GuardedMemory()
    let limits = FrameLimits()
    var reasons: Set<String> = []
    var frames = 0

    for round in 0..<Mutation.rounds {
      let bytes = mutation.next()
      let run = memory.copy(bytes, at: .last)
      var fault: String?
      do throws(WireError) {
        if let frame = try FrameDecoder.decode(run, limits: limits) {
          frames += 1
          fault = complaint(of: frame, in: run, limits)
        } else if bytes.count > 5 + 327_690 {
          fault = "waits for more than a frame can be"
        }
      } catch {
        reasons.insert("\(error.reason)")
        if error.offset < 0 || error.offset > bytes.count { fault = "\(error) is not in the run" }
      }
      // Against the other guard, among other bytes, the result is the same.
      if fault == nil {
        let here = FrameOutcome(decoding: run)
        let there = FrameOutcome(decoding: memory.copy(bytes, at: .first))
        if here != there { fault = "\(here), there \(there)" }
      }
      if let fault {
        Issue.record("seed \(Mutation.seed), round \(round): \(fault): \(Hex(wrappedValue: bytes))")
        return
      }
    }
    // Otherwise the rounds would prove little.
    #expect(reasons.count == 11, "only \(reasons)")
    #expect(frames > Mutation.rounds / 50)
  }

  private func complaint(
    of frame: APNS.Frame, in run: UnsafeRawBufferPointer, _ limits: FrameLimits
  ) -> String? {
    let notification = frame.notification
    guard frame.length <= run.count else { return "length \(frame.length)" }
    let own = run[..<frame.length]
    for bytes in [notification.token, notification.payload] {
      guard let start = bytes.baseAddress, let first = run.baseAddress,
        start > first, start + bytes.count <= first + own.count
      else { return "bytes that are not the frame's" }
    }
    guard limits.token.contains(notification.token.count) else { return "token size" }
    let maximum = frame.command == .framed ? limits.framedPayload : limits.legacyPayload
    guard (1...maximum).contains(notification.payload.count) else { return "payload size" }
    guard notification.priority == nil || [5, 10].contains(notification.priority) else {
      return "priority"
    }
    // An item cannot occur twice or be unknown, so the size follows from the values.
    guard FrameEncoder.size(of: notification, as: frame.command) == frame.length else {
      return "length \(frame.length)"
    }
    return nil
  }
}
