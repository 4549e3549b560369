/// A generator whose whole state is one number (Steele, Lea, Flood: SplitMix).
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    return Self.mix(state)
  }

  static func mix(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
    return value ^ value >> 31
  }

  /// From 0 to just below 1.
  static func fraction(_ value: UInt64) -> Double { Double(value >> 11) * 0x1p-53 }

  mutating func happens(_ chance: Double) -> Bool { Self.fraction(next()) < chance }
}
