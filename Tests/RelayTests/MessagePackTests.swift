import Testing

@testable import Relay

@Suite struct MessagePackTests {
  @Test func allSizesAreReadAsTheyWereWritten() throws {
    let sizes = [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536, 200_000]
    var writer = MessagePack.Writer()
    for size in sizes {
      writer.addList(of: size)
      writer.add(String(repeating: "é", count: size))
      writer.add(size)
      writer.add(-Int64(size))
    }
    try writer.bytes.withUnsafeBytes { bytes throws in
      var reader = MessagePack.Reader(bytes)
      for size in sizes {
        #expect(try reader.list() == size)
        #expect(try reader.text().count == 2 * size)
        #expect(try reader.number() == Int64(size))
        #expect(try reader.number() == -Int64(size))
      }
      #expect(reader.isAtEnd)
    }
  }

  @Test func numbersAsRedisWritesThem() throws {
    let written: [(bytes: [UInt8], number: Int64)] = [
      ([0x07], 7), ([0xCC, 0xFF], 255), ([0xCD, 0x01, 0x00], 256), ([0xCE, 0, 1, 0, 0], 65_536),
      ([0xCF, 0, 0, 0, 1, 0, 0, 0, 0], 1 << 32), ([0xD3, 0, 0, 0, 1, 0, 0, 0, 0], 1 << 32),
    ]
    for one in written {
      try one.bytes.withUnsafeBytes { bytes throws in
        var reader = MessagePack.Reader(bytes)
        #expect(try reader.number() == one.number)
      }
    }
  }

  @Test func whatEndsTooEarlyOrIsSomethingElseThrows() throws {
    var writer = MessagePack.Writer()
    writer.add(String(repeating: "x", count: 300))
    for bytes in [[], [0x91], [0xC0], [0xDB, 0xFF, 0xFF, 0xFF, 0xFF], [0xA5, 0x61]] as [[UInt8]] {
      #expect(throws: (any Error).self) { try text(bytes) }
    }
    for count in 0..<writer.bytes.count {
      #expect(throws: (any Error).self) { try text(Array(writer.bytes.prefix(count))) }
    }
  }

  private func text(_ bytes: [UInt8]) throws -> [UInt8] {
    try bytes.withUnsafeBytes {
      var reader = MessagePack.Reader($0)
      return Array(try reader.text())
    }
  }
}
