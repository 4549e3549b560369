import APNS
import Testing

@Suite struct FrameEncoderTests {
  private static let wide = FrameLimits(
    token: 1...0xFFFF, legacyPayload: 0xFFFF, framedPayload: 0xFFFF)

  @Test(arguments: try Vectors.frames().filter { $0.canonical == true })
  func writesTheVectorsBytes(_ vector: FrameVector) throws {
    let frame = try #require(vector.frame)
    #expect(encode(frame) == Array(vector.hex.prefix(frame.length)))
  }

  /// The encoder has its own order; the content is the same.
  @Test(arguments: try Vectors.frames().filter { $0.canonical == false })
  func putsItemsInOrder(_ vector: FrameVector) throws {
    let frame = try #require(vector.frame)
    let bytes = try #require(encode(frame))
    #expect(bytes != vector.hex)
    #expect(bytes.withUnsafeBytes { FrameOutcome(decoding: $0) } == .frame(frame))
  }

  /// Frames are written into the middle of a window, where one byte too many would damage
  /// the next frame.
  @Test(arguments: try Vectors.frames().filter { $0.canonical == true })
  func writesItsSizeAndNoMore(_ vector: FrameVector) throws {
    let frame = try #require(vector.frame)
    let around = [UInt8](repeating: 0xEE, count: 64)
    let bytes = try #require(encode(frame, between: around))
    #expect(bytes.prefix(64) == around[...])
    #expect(bytes.suffix(64) == around[...])
    #expect(bytes.dropFirst(64).dropLast(64) == vector.hex.prefix(frame.length))
  }

  @Test func missingRequiredValuesAreZero() {
    let notification = FrameVector.Frame(command: 1, token: [0xAA], payload: [0x31], length: 15)
    #expect(encode(notification) == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xAA, 0, 1, 0x31])
  }

  @Test func commandsOmitValuesThatTheyLack() {
    var notification = FrameVector.Frame(
      command: 0, token: [0xAA], payload: [0x31], identifier: 7, expiry: 8, priority: 10, length: 7)
    #expect(encode(notification) == [0, 0, 1, 0xAA, 0, 1, 0x31])
    notification.command = 1
    #expect(encode(notification) == [1, 0, 0, 0, 7, 0, 0, 0, 8, 0, 1, 0xAA, 0, 1, 0x31])
  }

  @Test(arguments: [Command.simple, .enhanced, .framed])
  func refusesWhatDoesNotFitItsField(_ command: Command) {
    let maximum = [UInt8](repeating: 0x31, count: 0xFFFF)
    let more = maximum + [0x31]
    func size(_ token: [UInt8], _ payload: [UInt8]) -> Int? {
      token.withUnsafeBytes { token in
        payload.withUnsafeBytes { payload in
          FrameEncoder.size(
            of: WireNotification(token: token, payload: payload, identifier: 1), as: command)
        }
      }
    }
    #expect(size(maximum, maximum) != nil)
    #expect(size(more, [0x31]) == nil)
    #expect(size([0xAA], more) == nil)
  }

  @Test(arguments: [Command.simple, .enhanced, .framed])
  func theLongestFrameIsDecoded(_ command: Command) throws {
    var frame = FrameVector.Frame(
      command: command.rawValue, token: [UInt8](repeating: 0xA5, count: 0xFFFF),
      payload: [UInt8](repeating: 0x31, count: 0xFFFF), length: 0)
    if command != .simple { (frame.identifier, frame.expiry) = (.max, .max) }
    if command == .framed { frame.priority = 10 }
    let bytes = try #require(encode(frame))
    frame.length = bytes.count
    let outcome = bytes.withUnsafeBytes { FrameOutcome(decoding: $0, limits: Self.wide) }
    #expect(outcome == .frame(frame))
  }

  /// The frame's bytes, written against a guard, with other bytes around them on request.
  private func encode(_ frame: FrameVector.Frame, between around: [UInt8] = []) -> [UInt8]? {
    frame.token.withUnsafeBytes { token in
      frame.payload.withUnsafeBytes { payload in
        let notification = WireNotification(
          token: token, payload: payload, identifier: frame.identifier, expiry: frame.expiry,
          priority: frame.priority)
        guard let command = Command(rawValue: frame.command),
          let size = FrameEncoder.size(of: notification, as: command)
        else { return nil }
        let memory = GuardedMemory(capacity: size + 2 * around.count)
        let room = memory.room(size + 2 * around.count, at: .last)
        room.copyBytes(from: around)
        room[(around.count + size)...].copyBytes(from: around)
        FrameEncoder.encode(
          notification, as: command, size: size, into: room.baseAddress! + around.count)
        return Array(room)
      }
    }
  }
}
