import APNS
import BinaryServer
import NIOCore
import Simulator
import Testing

@Suite struct BinaryTests {
  @Test func acceptsEachCommandAndRecordsIt() async throws {
    let (totals, accepted) = try await Stage.run { stage in
      let provider = try await stage.provider()
      try await provider.send(
        Frames.simple() + Frames.enhanced(7, expiry: 1_700_000_000)
          + Frames.framed(
            Frames.item(3, Frames.u32(9)), Frames.item(5, [5]), Frames.item(4, Frames.u32(0)),
            Frames.item(2, Frames.payload), Frames.item(1, [1, 2, 3]))
          + Frames.framed(Frames.item(1, Frames.token), Frames.item(2, Frames.payload)))
      let story = try await provider.finish()
      #expect(story.bytes.isEmpty)
      #expect(story.isClean)
    }
    #expect(totals.accepted == 4)
    #expect(totals.received == 4)
    #expect(totals.connections == 1)
    try #require(accepted.count == 4)
    #expect(accepted.map { $0["command"] as? Int } == [0, 1, 2, 2])
    #expect(accepted.map { $0["identifier"] as? Int } == [nil, 7, 9, nil])
    #expect(accepted.map { $0["expiry"] as? Int } == [nil, 1_700_000_000, 0, nil])
    #expect(accepted.map { $0["priority"] as? Int } == [nil, nil, 5, nil])
    #expect(accepted[2]["token"] as? String == "010203")
    #expect(accepted.allSatisfy { $0["connection"] as? Int == 1 })
    #expect(accepted.allSatisfy { $0["payload"] as? String == #"{"aps":{"alert":"Hello"}}"# })
  }

  @Test func recordsPayloadsThatAreNoPlainText() async throws {
    let escaped = Array("{\"a\":\"\\\" \u{1} \t é 😀\"}".utf8)
    let (_, accepted) = try await Stage.run { stage in
      let provider = try await stage.provider()
      for payload in [escaped, [0xFF], [0xC3, 0x28], [0xFF, 0xFE, 0xFD]] {
        try await provider.send(Frames.enhanced(1, payload: payload))
      }
      _ = try await provider.finish()
    }
    try #require(accepted.count == 4)
    #expect(accepted[0]["payload"] as? String == String(decoding: escaped, as: UTF8.self))
    #expect(accepted.map { $0["payload_base64"] as? String } == [nil, "/w==", "wyg=", "//79"])
  }

  struct Fault: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var frame: [UInt8]
    var status: UInt8
    var identifier: UInt32

    init(_ name: String, _ frame: [UInt8], _ status: UInt8, _ identifier: UInt32) {
      testDescription = name
      self.frame = frame
      self.status = status
      self.identifier = identifier
    }
  }

  private static let long = [UInt8](repeating: 1, count: 101)
  private static let token = Frames.item(1, Frames.token)
  private static let payload = Frames.item(2, Frames.payload)
  private static func identifier(_ value: UInt32) -> [UInt8] { Frames.item(3, Frames.u32(value)) }

  @Test(arguments: [
    Fault("no token", Frames.enhanced(5, token: []), 2, 5),
    Fault("no token item", Frames.framed(payload, identifier(6)), 2, 6),
    Fault("no payload", Frames.enhanced(7, payload: []), 4, 7),
    Fault("no payload item", Frames.framed(token, identifier(8)), 4, 8),
    Fault("long token", Frames.enhanced(9, token: long), 5, 9),
    Fault("long token item", Frames.framed(10, token: long), 5, 10),
    Fault("long payload", Frames.enhanced(11, payload: Array(repeating: 32, count: 2049)), 7, 11),
    Fault(
      "long payload item",
      Frames.framed(identifier(12), token, Frames.item(2, Array(repeating: 32, count: 2049))), 7, 12
    ),
    Fault("priority", Frames.framed(token, payload, Frames.item(5, [7]), identifier(13)), 1, 13),
    Fault("item twice", Frames.framed(token, token, payload, identifier(14)), 128, 14),
    Fault("item unknown", Frames.framed(token, payload, Frames.item(9, [])), 128, 0),
    Fault("item cut", Frames.framed(token, payload, [3, 0, 4, 1]), 128, 0),
    Fault("no identifier", Frames.framed(token), 4, 0),
    Fault("command unknown", [77], 128, 0),
    Fault("frame without end", [2, 0xFF, 0xFF, 0xFF, 0xFF], 128, 0),
  ])
  func answers(fault: Fault) async throws {
    let (totals, accepted) = try await Stage.run { stage in
      let provider = try await stage.provider()
      try await provider.send(Frames.enhanced(1) + fault.frame)
      let story = try await provider.end()
      #expect(story.bytes == Frames.errorPacket(fault.status, fault.identifier))
      #expect(story.isClean)
    }
    #expect(totals.accepted == 1)
    #expect(totals.rejected == [fault.status: 1])
    #expect(totals.discarded == 0)
    #expect(accepted.count == 1)
  }

  @Test func knowsBadTokens() async throws {
    let bad: [UInt8] = [1, 2, 3]
    for (frame, answer) in [
      (Frames.enhanced(4, token: bad), Frames.errorPacket(8, 4)),
      (Frames.framed(5, token: bad), Frames.errorPacket(8, 5)),
      (Frames.simple(token: bad), []),
    ] {
      let (totals, _) = try await Stage.run {
        $0.rules.frames.badTokens = TokenSet([bad])
      } _: { stage in
        let provider = try await stage.provider()
        try await provider.send(Frames.enhanced(1) + frame + Frames.enhanced(6))
        let story = try await provider.end()
        #expect(story.bytes == answer)
        #expect(story.isClean)
      }
      #expect(totals.rejected == [8: 1])
      #expect(totals.accepted == 1)
      #expect(totals.discarded == 1)
    }
  }

  @Test func saysNothingToCommandZero() async throws {
    let (totals, _) = try await Stage.run { stage in
      let provider = try await stage.provider()
      try await provider.send(Frames.simple() + Frames.simple(token: []) + Frames.simple())
      let story = try await provider.end()
      #expect(story.bytes.isEmpty)
      #expect(story.isClean)
    }
    #expect(totals.accepted == 1)
    #expect(totals.rejected == [2: 1])
    #expect(totals.discarded == 1)
  }

  @Test func followsItsLimits() async throws {
    let large = [UInt8](repeating: 32, count: 257)
    let (totals, _) = try await Stage.run {
      $0.rules.frames.legacyPayloadMax = 256
      $0.rules.frames.tokenSizes = 32...32
    } _: { stage in
      let first = try await stage.provider()
      try await first.send(
        Frames.framed(Frames.item(1, Frames.token), Frames.item(2, large))
          + Frames.enhanced(2, payload: large))
      #expect(try await first.end().bytes == Frames.errorPacket(7, 2))
      let second = try await stage.provider()
      try await second.send(Frames.enhanced(3, token: [1]))
      #expect(try await second.end().bytes == Frames.errorPacket(5, 3))
    }
    #expect(totals.accepted == 1)
    #expect(totals.rejected == [5: 1, 7: 1])
  }

  /// The packet names the notification that was bad, not the last one, and gets
  /// through although the client goes on sending without reading.
  @Test func discardsWhatComesAfterAnError() async throws {
    let (totals, accepted) = try await Stage.run { stage in
      let provider = try await stage.provider()
      var bytes: [UInt8] = []
      for identifier in 1...20_000 as ClosedRange<UInt32> {
        bytes += Frames.enhanced(identifier, token: identifier == 100 ? [] : Frames.token)
      }
      try await provider.send(bytes)
      let story = try await provider.end()
      #expect(story.bytes == Frames.errorPacket(2, 100))
      #expect(story.isClean)
    }
    #expect(totals.accepted == 99)
    #expect(totals.rejected == [2: 1])
    #expect(totals.discarded == 19_900)
    #expect(accepted.compactMap { $0["identifier"] as? Int } == Array(1...99))
  }

  @Test func putsSingleBytesTogether() async throws {
    let (totals, accepted) = try await Stage.run { stage in
      let provider = try await stage.provider()
      for byte in Frames.simple() + Frames.enhanced(2) + Frames.framed(3)
        + Frames.framed(4, token: [])
      {
        try await provider.send([byte])
      }
      #expect(try await provider.end().bytes == Frames.errorPacket(2, 4))
    }
    #expect(totals.accepted == 3)
    #expect(accepted.map { $0["identifier"] as? Int } == [nil, 2, 3])
  }

  @Test func survivesNoise() async throws {
    var numbers = SystemRandomNumberGenerator()
    try await Stage.run { stage in
      for first in 0...9 as ClosedRange<UInt8> {
        let provider = try await stage.provider()
        let noise = (0..<5000).map { _ in UInt8.random(in: 0...255, using: &numbers) }
        try? await provider.send([first] + noise)
        _ = try await provider.finish()
      }
      let provider = try await stage.provider()
      try await provider.send(Frames.enhanced(1, token: []))
      #expect(try await provider.end().bytes == Frames.errorPacket(2, 1))
    }
  }

  @Test func servesManyAtOnce() async throws {
    let (totals, accepted) = try await Stage.run { stage in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            let provider = try await stage.provider()
            try await provider.send((1...500).flatMap { Frames.framed($0) })
            _ = try await provider.finish()
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(totals.accepted == 4000)
    #expect(totals.connections == 8)
    #expect(Set(accepted.compactMap { $0["connection"] as? Int }).count == 8)
  }
}
