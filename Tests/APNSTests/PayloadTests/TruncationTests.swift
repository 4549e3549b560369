import Foundation
import Testing

@testable import APNS

/// A written payload with a text that may be too long for it.
private struct Written {
  var json: Data
  var cut: Int

  /// Nil if the payload does not fit, however short the text gets.
  init?(
    limit: Int, suffix: String,
    _ fill: (UnsafeMutablePointer<PayloadBuilder>) throws(PayloadFault) -> Void
  ) throws {
    let truncation = try withBytes(of: suffix) { try Truncation(suffix: $0) }
    let builder = UnsafeMutablePointer<PayloadBuilder>.allocate(capacity: 1)
    builder.initialize(to: PayloadBuilder(limit: limit, truncation: truncation))
    defer {
      builder.deinitialize(count: 1)
      builder.deallocate()
    }
    try fill(builder)
    guard let plan = try? builder.pointee.plan(within: limit) else { return nil }
    var bytes = Data(count: plan.size)
    bytes.withUnsafeMutableBytes { builder.pointee.write(plan, to: $0.baseAddress!) }
    json = bytes
    cut = plan.cut
  }
}

private func withBytes<Result: ~Copyable, Fault: Error>(
  of text: String, _ body: (UnsafeRawBufferPointer) throws(Fault) -> Result
) throws(Fault) -> Result {
  let bytes = Array(text.utf8)
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
  defer { memory.deallocate() }
  memory.copyBytes(from: bytes)
  return try body(UnsafeRawBufferPointer(memory))
}

/// How many bytes the text takes in JSON, counted independently.
private func escapedCount(_ text: some Sequence<Unicode.Scalar>) -> Int {
  text.reduce(0) { sum, scalar in
    switch scalar {
    case "\"", "\\", "\u{8}", "\t", "\n", "\u{C}", "\r": sum + 2
    case "\u{0}"..<" ": sum + 6
    default: sum + UTF8.width(scalar)
    }
  }
}

/// Compares with Foundation's JSON and Swift's own strings.
@Suite struct TruncationTests {
  private static let corpus: [(script: String, text: String)] = [
    ("Latin", "Bob wants to play poker with you tonight at eight, are you in? Bring the others. "),
    (
      "escapes",
      "\"Quoted\" \\ back\\slash\n\ttab \u{1}\u{1F} line\r\nline \u{8}\u{C} end / \u{7F} "
    ),
    (
      "combining",
      "Cafe\u{301} na\u{308}ive Z\u{30C}\u{323}a\u{300}\u{316}lgo\u{489}\u{489} o\u{302}\u{323} "
    ),
    ("Chinese", "鲍勃邀请你今晚八点一起玩扑克牌，你来吗？请把其他人也带来。"),
    ("Arabic", "مَرْحَبًا بِكُمْ فِي الْعَالَمِ، هَلْ تُرِيدُ أَنْ تَلْعَبَ مَعِي؟ "),
    ("Hebrew", "שָׁלוֹם עֲלֵיכֶם, הַאִם תִּרְצֶה לְשַׂחֵק? "),
    ("Devanagari", "नमस्ते दुनिया, क्षत्रिय और श्रीमान आज रात्रि को खेलेंगे। क्या आप आएँगे? "),
    ("Bengali", "আজ রাতে খেলবেন? বন্ধুদের সঙ্গে নিয়ে আসুন, ক্ষমা চাই। "),
    ("Tamil", "இன்று இரவு விளையாடுவோமா? நண்பர்களையும் அழைத்து வாருங்கள். "),
    ("Thai", "คืนนี้เล่นไพ่กันไหม พาเพื่อนๆ มาด้วยนะ น้ำใจ "),
    ("Hangul", "오늘 밤 여덟 시에 같이 포커 칠래요? 친구들도 데려오세요. "),
    (
      "Hangul, decomposed",
      "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF} \u{110B}\u{1169}\u{1102}\u{1173}\u{11AF} "
    ),
    ("emoji families", "👨‍👩‍👧‍👦👩‍❤️‍💋‍👨👨🏽‍🚀🏳️‍🌈🏴‍☠️👍🏿🫱🏻‍🫲🏿❤️‍🔥1️⃣ "),
    ("flags", "🇩🇪🇯🇵🇺🇸🇫🇷🇮🇳🇰🇷🏴󠁧󠁢󠁳󠁣󠁴󠁿🇧🇷🇨🇦 "),
    ("mixed", "नमस्ते 👨‍👩‍👧‍👦 \"한글\" 🇩🇪 cafe\u{301}\n中文 \\ "),
    ("prepended", "\u{600}\n\u{600}1\u{600}\t\u{110BD}\n\u{600}\u{600}\n"),
    ("a single one", "Z\(String(repeating: "\u{301}", count: 300))"),
  ]

  private static let suffixes = ["\u{2026}", "", "...", " \u{2192} \"app\""]

  @Test(arguments: corpus.map(\.script))
  func everyLimit(_ script: String) throws {
    let piece = try #require(Self.corpus.first { $0.script == script }).text
    let text = String(repeating: piece, count: 1 + 600 / piece.utf8.count)
    for suffix in Self.suffixes {
      for limit in 60...300 {
        try check(text, limit, suffix, at: "\(script), \(limit), '\(suffix)'")
        // Different beginnings put every character at the limit once.
        if limit % 16 == 0 {
          for skipped in 1..<12 {
            try check(
              String(text.dropFirst(skipped)), limit, suffix, at: "\(script) \(skipped), \(limit)")
          }
        }
      }
    }
  }

  private func check(_ text: String, _ limit: Int, _ suffix: String, at place: String) throws {
    let written = try #require(
      try Written(limit: limit, suffix: suffix) { (builder) throws(PayloadFault) in
        try withBytes(of: text) { (bytes) throws(PayloadFault) in
          try builder.pointee.set(.body, string: bytes)
        }
        try builder.pointee.set(.badge, integer: 3)
      }, "\(place)")
    #expect(written.json.count <= limit, "\(place)")
    struct Payload: Decodable {
      struct Aps: Decodable {
        struct Alert: Decodable { var body: String }
        var alert: Alert
        var badge: Int
      }
      var aps: Aps
    }
    let body = try JSONDecoder().decode(Payload.self, from: written.json).aps.alert.body
    let room = limit - written.json.count
    if written.cut == 0 {
      #expect(scalars(body) == scalars(text), "\(place)")
      return
    }
    // The text keeps whole characters, followed by the suffix.
    let shown = Array(body)
    let keptCount = shown.count - suffix.count
    let kept = text.prefix(max(0, keptCount))
    #expect(scalars(body) == scalars(kept) + scalars(suffix), "\(place)")
    #expect(
      shown.map(scalars) == kept.map(scalars) + suffix.map(scalars), "\(place): one was changed")
    #expect(written.cut == text.utf8.count - kept.utf8.count, "\(place)")
    // The next character would not have fit, or the suffix would have changed it.
    let next = text.prefix(keptCount + 1)
    let last = text[kept.endIndex...].prefix(1)
    let joins = Array(String(next) + suffix).count != next.count + suffix.count
    #expect(joins || escapedCount(last.unicodeScalars) > room, "\(place): \(room) bytes to spare")
  }

  private func scalars(_ text: some StringProtocol) -> [UInt32] {
    text.unicodeScalars.map(\.value)
  }

  private func scalars(_ character: Character) -> [UInt32] {
    character.unicodeScalars.map(\.value)
  }

  /// A suffix that would join with the character before it is refused or moves the cut.
  @Test func suffixesThatJoin() throws {
    for suffix in ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{903}"] {
      #expect(throws: Truncation.Fault.self, "\(suffix)") {
        try withBytes(of: suffix) { _ = try Truncation(suffix: $0) }
      }
    }
    // Half a flag stands before a suffix that is half a flag.
    let text = String(repeating: "\u{1F1E9}", count: 100)
    for limit in 60...90 { try check(text, limit, "\u{1F1EA}", at: "half flags, \(limit)") }
  }
}
