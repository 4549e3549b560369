import APNS
import Testing

/// The result for an error packet's bytes, as the vectors state it.
private enum PacketOutcome: Equatable {
  case packet(ErrorPacketVector.Packet)
  case fault(ByteFault)
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

  /// The packet's bytes, written against a guard.
  private func encode(_ packet: ErrorPacket) -> [UInt8] {
    let room = memory.room(ErrorPacket.size, at: .last)
    packet.encode(into: room.baseAddress!)
    return Array(room)
  }
}
