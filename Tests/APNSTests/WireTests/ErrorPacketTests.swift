import APNS
import Testing

/// The result for an error packet's bytes, as the vectors state it.
private enum PacketOutcome: Equatable {
  case packet(ErrorPacketVector.Packet)
  case fault(ErrorPacketVector.Fault)
  case incomplete(count: Int)

  /// Passes the bytes in pieces until there is a result.
  init(reading pieces: [some Collection<UInt8>], in memory: GuardedMemory) {
    var reader = ErrorPacketReader()
    for piece in pieces {
      do throws(WireError) {
        if let packet = try reader.read(memory.copy(piece, at: .last)) {
          self = .packet(.init(status: packet.status, identifier: packet.identifier))
          return
        }
      } catch {
        self = .fault(.init(reason: "\(error.reason)", offset: error.offset))
        return
      }
    }
    self = .incomplete(count: reader.count)
  }
}

extension ErrorPacketVector {
  fileprivate var expected: PacketOutcome {
    if let packet { return .packet(packet) }
    if let error { return .fault(error) }
    return .incomplete(count: hex.count)
  }
}

@Suite struct ErrorPacketTests {
  private let memory = GuardedMemory()

  @Test(arguments: try Vectors.errorPackets())
  func readsItByteByByte(_ vector: ErrorPacketVector) {
    #expect(PacketOutcome(reading: vector.hex.map { [$0] }, in: memory) == vector.expected)
  }

  /// TLS records and reads end anywhere, and an empty read is not the end.
  @Test(arguments: try Vectors.errorPackets())
  func readsItCutAnywhere(_ vector: ErrorPacketVector) {
    for first in 0...vector.hex.count {
      for second in first...vector.hex.count {
        let pieces = [vector.hex[..<first], vector.hex[first..<second], vector.hex[second...]]
        #expect(
          PacketOutcome(reading: pieces, in: memory) == vector.expected,
          "cut at \(first), \(second)")
      }
    }
  }

  @Test func hasNoResultBeforeItsLastByte() throws {
    var reader = ErrorPacketReader()
    for (index, byte) in ([8, 7, 0xAB, 0, 0, 0xCD] as [UInt8]).enumerated() {
      #expect(reader.count == index)
      let packet = try reader.read(memory.copy([byte], at: .last))
      #expect((packet != nil) == (index == 5))
    }
  }

  @Test func packetsAreIndependent() throws {
    var reader = ErrorPacketReader()
    for packet in [
      ErrorPacket(status: 255, identifier: .max), ErrorPacket(status: 0, identifier: 0),
      ErrorPacket(status: 8, identifier: 0x0102_0304),
    ] {
      let bytes = encode(packet)
      #expect(try reader.read(memory.copy(bytes.prefix(4), at: .last)) == nil)
      #expect(try reader.read(memory.copy(bytes.dropFirst(4), at: .last)) == packet)
      #expect(reader.count == 0)
    }
  }

  @Test func nullIsEmpty() throws {
    var reader = ErrorPacketReader()
    #expect(try reader.read(UnsafeRawBufferPointer(start: nil, count: 0)) == nil)
  }

  @Test(arguments: try Vectors.errorPackets().filter { $0.packet != nil })
  func writesTheVectorsBytes(_ vector: ErrorPacketVector) throws {
    let packet = try #require(vector.packet)
    let bytes = encode(ErrorPacket(status: packet.status, identifier: packet.identifier))
    #expect(bytes == Array(vector.hex.prefix(6)))
  }

  @Test func survivesAnyBytes() throws {
    var mutation = Mutation(of: try Vectors.errorPackets().map(\.hex))
    var random = SplitMix64(seed: Mutation.seed)
    for round in 0..<Mutation.rounds {
      let bytes = mutation.next()
      // Computed here without a reader, for bytes that are in no vector.
      let expected: PacketOutcome =
        switch bytes.count {
        case 0: .incomplete(count: 0)
        case _ where bytes[0] != 8: .fault(.init(reason: "unknownCommand", offset: 0))
        case ..<6: .incomplete(count: bytes.count)
        default:
          .packet(
            .init(
              status: bytes[1], identifier: bytes[2..<6].reduce(0) { $0 * 256 + UInt32($1) }))
        }
      let cut = random.below(bytes.count + 1)
      let outcome = PacketOutcome(reading: [bytes[..<cut], bytes[cut...]], in: memory)
      if outcome != expected {
        Issue.record(
          "seed \(Mutation.seed), round \(round): \(outcome) of \(bytes) cut at \(cut)")
        return
      }
    }
  }

  /// The packet's bytes, written against a guard.
  private func encode(_ packet: ErrorPacket) -> [UInt8] {
    let room = memory.room(ErrorPacket.size, at: .last)
    packet.encode(into: room.baseAddress!)
    return Array(room)
  }
}
