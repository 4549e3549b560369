import BinaryServer
import Foundation
import Simulator
import Testing

@Suite struct ListTests {
  private func withFile<Value>(_ text: String, _ use: (String) throws -> Value) throws -> Value {
    let path = Stage.temporaryPath()
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try use(path)
  }

  @Test func readsTokens() throws {
    let tokens = try withFile("# gone\n\n<0102 aB>\r\n  ff # this too\nff") {
      try ListFile.tokens(at: $0)
    }
    #expect(tokens.count == 2)
    #expect([1, 2, 0xAB].withUnsafeBytes { !tokens.contains($0) })
    #expect([1, 2, 0xAB].map(UInt8.init).withUnsafeBytes { tokens.contains($0) })
    #expect([0xFF].map(UInt8.init).withUnsafeBytes { tokens.contains($0) })
    #expect([UInt8]().withUnsafeBytes { !tokens.contains($0) })
  }

  @Test func readsFeedback() throws {
    let entries = try withFile("0 ff\n4294967295\t<01 02>\n") { try ListFile.feedback(at: $0) }
    #expect(
      entries == [
        FeedbackEntry(timestamp: 0, token: [255]), FeedbackEntry(timestamp: .max, token: [1, 2]),
      ])
  }

  @Test(arguments: [
    ("ab\n  xy", 2, 3), ("abc", 1, 3), ("a\u{e9}", 1, 2), ("\n<>\n", 2, 3),
    (String(repeating: "ab", count: 101), 1, 201),
  ])
  func placesFaultsOfTokens(text: String, line: Int, column: Int) throws {
    try withFile(text) { path in
      let error = #expect(throws: ListError.self) { try ListFile.tokens(at: path) }
      #expect(error?.line == line)
      #expect(error?.column == column)
      #expect(error?.description.hasPrefix("\(path):\(line):\(column): ") == true)
    }
  }

  @Test(arguments: [("x ff", 1, 1), ("4294967296 ff", 1, 1), ("7", 1, 2), (" 12 fg", 1, 6)])
  func placesFaultsOfFeedback(text: String, line: Int, column: Int) throws {
    try withFile(text) { path in
      let error = #expect(throws: ListError.self) { try ListFile.feedback(at: path) }
      #expect(error?.line == line)
      #expect(error?.column == column)
    }
  }

  @Test func namesAFileThatIsNotThere() {
    let error = #expect(throws: ListError.self) { try ListFile.tokens(at: "/nonexistent") }
    #expect(error?.description == "/nonexistent: No such file or directory")
  }

  @Test func findsEveryTokenAmongMany() {
    let all = (0..<5000 as Range<UInt32>).map { Frames.u32($0 &* 2) }
    let tokens = TokenSet(all)
    #expect(tokens.count == 5000)
    #expect(all.allSatisfy { $0.withUnsafeBytes { tokens.contains($0) } })
    #expect(
      all.allSatisfy {
        ([$0[0], $0[1], $0[2], $0[3] | 1]).withUnsafeBytes { !tokens.contains($0) }
      })
  }
}
