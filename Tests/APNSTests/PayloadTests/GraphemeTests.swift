import Testing

@testable import APNS

/// Compares with Swift's own strings, whose Unicode tables are independent of ours.
@Suite struct GraphemeTests {
  /// Where visible characters begin according to the library.
  private func boundaries(_ scalars: some Sequence<Unicode.Scalar>) -> [Bool] {
    var breaker = GraphemeBreaker()
    return scalars.map { breaker.begins($0.value) }
  }

  /// The same according to Swift.
  private func reference(_ scalars: [Unicode.Scalar]) -> [Bool] {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text).flatMap { character in
      character.unicodeScalars.indices.map { $0 == character.unicodeScalars.startIndex }
    }
  }

  /// Swift may know characters newer than the table's Unicode version.
  private func isKnown(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.age.map { $0 <= (15, 0) } ?? false
  }

  /// A character that is Prepend in Unicode 15 and not in later versions.
  private static let changedSince: Set<UInt32> = [0x11A3A]

  @Test func everyCharacterBetweenLetters() {
    var wrong: [String] = []
    for value in 0...0x10FFFF as ClosedRange<UInt32> {
      guard let scalar = Unicode.Scalar(value), isKnown(scalar),
        !Self.changedSince.contains(value)
      else { continue }
      let scalars: [Unicode.Scalar] = ["a", scalar, "b"]
      if boundaries(scalars) != reference(scalars) { wrong.append(String(value, radix: 16)) }
    }
    #expect(wrong == [])
  }

  /// Every pair of a few characters from each class.
  @Test func everyPairOfClasses() {
    for first in samples {
      for second in samples {
        for third in samples {
          let scalars = [first, second, third]
          if boundaries(scalars) != reference(scalars) {
            Issue.record("\(scalars.map { String($0.value, radix: 16) })")
            return
          }
        }
      }
    }
  }

  @Test func longRunsOfJoiningCharacters() {
    var random = SplitMix64(seed: Mutation.seed)
    for _ in 0..<20_000 {
      let scalars = (0..<(2 + random.below(14))).map { _ in samples[random.below(samples.count)] }
      if boundaries(scalars) != reference(scalars) {
        Issue.record("\(scalars.map { String($0.value, radix: 16) })")
        return
      }
    }
  }

  private let samples: [Unicode.Scalar] = [
    "a", "\r", "\n", "\u{0}", "\u{AD}", "\u{301}", "\u{200C}", "\u{200D}", "\u{FE0F}",
    "\u{1F1E9}", "\u{1F1EA}", "\u{600}", "\u{110BD}", "\u{903}", "\u{E33}", "\u{1100}", "\u{1161}",
    "\u{11A8}", "\u{AC00}", "\u{AC01}", "\u{D7B0}", "\u{D7CB}", "\u{A960}", "\u{1F468}", "\u{2764}",
    "\u{A9}", "\u{1F3FD}", "\u{E0067}", "\u{915}", "\u{937}", "\u{94D}", "\u{93C}", "\u{941}",
    "\u{995}", "\u{9CD}", "\u{4E2D}", "\u{5E9}",
  ]
}
