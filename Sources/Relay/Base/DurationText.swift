/// A time as a configuration has it: a number and its unit, such as 500ms, 30s, 10m, 24h or 30d.
package enum DurationText {
  /// In milliseconds.
  private static let units = [
    ("d", 86_400_000.0), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]

  /// nil if it is something else. 0 needs no unit.
  package static func seconds(_ text: String) -> Double? {
    if text == "0" { return 0 }
    let number = text.prefix { "0123456789.".contains($0) }
    guard let unit = units.first(where: { $0.0 == text.dropFirst(number.count) }),
      let value = Double(number)
    else { return nil }
    return value * unit.1 / 1000
  }

  /// In the largest unit that gives a whole number.
  static func of(_ seconds: Double) -> String {
    let time = seconds * 1000
    guard time > 0 else { return "0s" }
    let unit = units.first { time >= $0.1 && time.remainder(dividingBy: $0.1) == 0 } ?? ("ms", 1)
    return number(time / unit.1) + unit.0
  }

  /// A whole number is written without a fraction.
  static func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
  }
}
