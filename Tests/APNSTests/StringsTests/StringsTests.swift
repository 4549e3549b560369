import Foundation
import Testing

@testable import APNS

/// Compares strings files with Apple's own parser, which Foundation contains.
@Suite struct StringsTests {
  @Test(arguments: try Vectors.strings())
  func vectorsAreReadAsAppleReadsThem(vector: StringsVector) throws {
    let memory = GuardedMemory()
    for side in GuardedMemory.Side.allCases {
      let ours = Self.read(memory.copy(vector.hex, at: side))
      #expect((ours != nil) == (vector.result == .valid))
      if vector.result == .valid, !Self.isEmpty(vector.hex) {
        #expect(ours == Self.readByFoundation(vector.hex))
      }
    }
  }

  /// Apple's parser accepts every file that ours accepts, and reads the same from it.
  @Test func damagedFilesAreReadAsAppleReadsThem() throws {
    let memory = GuardedMemory()
    var mutation = Mutation(of: try Vectors.strings().map(\.hex).filter { $0.count < 1000 })
    var taken = 0
    for round in 0..<Mutation.rounds / 10 {
      let bytes = mutation.next()
      guard let ours = Self.read(memory.copy(bytes, at: round & 1 == 0 ? .first : .last)) else {
        continue
      }
      taken += 1
      if Self.isEmpty(bytes) { continue }
      #expect(ours == Self.readByFoundation(bytes), "\(bytes)")
    }
    #expect(taken > 1000)
  }

  @Test(
    arguments: try Vectors.stringsFormats().filter {
      $0.result == .valid && $0.name != "number-left-out"
    })
  func formatsAreFilledInAsFoundationDoesIt(vector: StringsFormatVector) throws {
    let table = try #require(Self.readByFoundation(vector.hex))
    let format = try #require(table[Array("KEY".utf8)])
    #expect(
      String(
        format: String(decoding: format, as: UTF8.self),
        arguments: vector.args.map { NSString(string: $0) }) == vector.formatted)
  }

  /// True if there is at most a byte order mark, which Foundation does not accept as a file.
  private static func isEmpty(_ bytes: [UInt8]) -> Bool {
    [[], [0xFF, 0xFE], [0xFE, 0xFF], [0xEF, 0xBB, 0xBF]].contains(bytes)
  }

  /// Bytes, because Swift considers some strings equal that differ in the file.
  private typealias Pairs = [[UInt8]: [UInt8]]

  private static func read(_ bytes: UnsafeRawBufferPointer) -> Pairs? {
    do throws(StringsFault) {
      let table = try StringsTable.read(bytes)
      var pairs = Pairs()
      for entry in table.all { pairs[Array(table.key(entry))] = Array(table.value(entry)) }
      return pairs
    } catch {
      return nil
    }
  }

  private static func readByFoundation(_ bytes: [UInt8]) -> Pairs? {
    guard
      let list = try? PropertyListSerialization.propertyList(
        from: Data(bytes), options: [], format: nil),
      let dictionary = list as? [String: String]
    else { return nil }
    var pairs = Pairs()
    for (key, value) in dictionary { pairs[Array(key.utf8)] = Array(value.utf8) }
    return pairs
  }
}
