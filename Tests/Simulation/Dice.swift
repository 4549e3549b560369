/// The source of every choice in a run: one seed, in Steele, Lea and Flood's SplitMix64.
struct Dice {
  private var state: UInt64

  /// Neighbouring seeds lead to unrelated choices.
  init(seed: UInt64) { state = Self.stir(seed &+ 0x9E37_79B9_7F4A_7C15) }

  private static func stir(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.stir(state)
  }

  /// A number in 0 ..< bound; 0 if the bound is 0 or less.
  mutating func below(_ bound: Int) -> Int {
    bound > 0 ? Int(next().multipliedFullWidth(by: UInt64(bound)).high) : 0
  }

  mutating func within(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + below(range.count)
  }

  mutating func happens(_ perMille: Int) -> Bool { perMille > 0 && below(1000) < perMille }

  mutating func pick<Choice>(_ choices: [Choice]) -> Choice { choices[below(choices.count)] }

  /// A time in 0 ... limit; short times are as likely as long ones.
  mutating func time(upTo limit: Int64) -> Int64 {
    guard limit > 0 else { return 0 }
    return Int64(below(Int(limit >> Int64(below(14))) + 1))
  }

  /// A time up to the usual one, and mostly the usual one itself.
  mutating func around(_ usual: Int64) -> Int64 {
    below(4) == 0 ? Int64(below(Int(usual) + 1)) : usual
  }
}
