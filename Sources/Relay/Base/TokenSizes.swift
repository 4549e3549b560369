/// A set of device token sizes in bytes.
package struct TokenSizes: OptionSet, Sendable {
  /// The largest size in the binary interface.
  package static let longest = 100

  package let rawValue: UInt128

  package init(rawValue: UInt128) { self.rawValue = rawValue }

  package init(_ size: Int) {
    rawValue = (1...Self.longest).contains(size) ? 1 << UInt128(size) : 0
  }

  /// Parses numbers separated by spaces; nil for any other text.
  package init?(_ text: String) {
    self = []
    for word in text.split(separator: " ") {
      guard let size = Int(word), (1...Self.longest).contains(size) else { return nil }
      formUnion(Self(size))
    }
  }

  package func contains(size: Int) -> Bool { !isDisjoint(with: Self(size)) }

  package var text: String {
    (1...Self.longest).filter(contains(size:)).map(String.init).joined(separator: " ")
  }
}
