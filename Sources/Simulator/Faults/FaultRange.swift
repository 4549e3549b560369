/// A range as people write it: 10-20, 10..20, 10,20 or as JSON [10,20].
enum FaultRange {
  /// Longer ones first: the shorter is part of the longer.
  private static let separators = ["...", "..", "…", "–", "-"]

  /// Its two bounds; nil where it is no such text.
  static func bounds(in text: String, at offset: Int) -> JSONValue? {
    let text = text.filter { $0 != " " }
    for separator in separators {
      guard let between = text.firstRange(of: separator) else { continue }
      guard let low = Int(text[..<between.lowerBound]), let high = Int(text[between.upperBound...])
      else { return nil }
      return JSONValue(
        .array([low, high].map { JSONValue(.number(Double($0)), at: offset) }), at: offset)
    }
    return nil
  }
}
