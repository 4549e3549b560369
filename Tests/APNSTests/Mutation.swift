import Foundation

/// Damages bytes, in the same way for the same seed.
struct Mutation {
  /// Set APNS_TEST_SEED to try other mutations.
  static let seed =
    ProcessInfo.processInfo.environment["APNS_TEST_SEED"].flatMap(UInt64.init) ?? 2195

  static let rounds = 200_000

  private var random: SplitMix64
  private let corpus: [[UInt8]]

  init(of corpus: [[UInt8]], seed: UInt64 = Mutation.seed) {
    random = SplitMix64(seed: seed)
    self.corpus = corpus
  }

  mutating func next() -> [UInt8] {
    var bytes = corpus[random.below(corpus.count)]
    for _ in 0...random.below(3) { spoil(&bytes) }
    return bytes
  }

  private mutating func spoil(_ bytes: inout [UInt8]) {
    if bytes.isEmpty { return bytes = random.bytes(1 + random.below(8)) }
    let place = place(in: bytes)
    switch random.below(9) {
    case 0: bytes[place] ^= 1 << random.below(8)
    case 1: bytes[place] = UInt8(truncatingIfNeeded: random.next())
    case 2: bytes[place] = [0, 1, 2, 3, 4, 5, 8, 10, 0x7F, 0x80, 0xFF][random.below(11)]
    case 3:
      // A length that is off by one is the error that a decoder most easily misses.
      bytes[place] = random.below(2) == 0 ? bytes[place] &+ 1 : bytes[place] &- 1
    case 4: bytes.insert(contentsOf: random.bytes(1 + random.below(4)), at: place)
    case 5: bytes.removeSubrange(place..<min(bytes.count, place + 1 + random.below(4)))
    case 6: bytes.removeSubrange(place...)
    case 7:
      let other = corpus[random.below(corpus.count)]
      bytes.replaceSubrange(
        place..., with: other.dropFirst(other.isEmpty ? 0 : place % other.count))
    default:
      let end = min(bytes.count, place + 1 + random.below(48))
      bytes.insert(contentsOf: bytes[place..<end], at: self.place(in: bytes))
    }
  }

  /// Prefers the first bytes, because they contain the lengths.
  private mutating func place(in bytes: [UInt8]) -> Int {
    random.below(random.below(2) == 0 ? bytes.count : min(bytes.count, 16))
  }
}
