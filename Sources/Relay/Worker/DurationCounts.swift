/// How many notifications took how long, for a histogram.
struct DurationCounts {
  /// The longest duration of each place but the last.
  static let limitsMS: InlineArray<17, Int64> = [
    10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 900_000,
    3_600_000, 14_400_000, 86_400_000,
  ]

  private(set) var counts = InlineArray<18, Int>(repeating: 0)
  private(set) var sumMS: Int64 = 0

  /// Clocks of other machines may be ahead.
  mutating func add(_ milliseconds: Int64) {
    var place = 0
    while place < Self.limitsMS.count, milliseconds > Self.limitsMS[place] { place += 1 }
    counts[place] += 1
    sumMS += max(0, milliseconds)
  }
}
