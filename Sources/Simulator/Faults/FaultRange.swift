import JSON

/// A range as people write it: 10-20, 10..20, 10,20, or [10,20] in JSON.
enum FaultRange {
  /// The longer ones first, because they contain shorter ones.
  private static let separators = ["...", "..", "…", "–", "-"]

  /// The two bounds; nil if the text is not a range.
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
