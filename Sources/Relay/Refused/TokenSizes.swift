/// Lengths of device tokens, in bytes.
package struct TokenSizes: OptionSet, Sendable {
  /// The longest that the binary interface has.
  package static let longest = 100

  package let rawValue: UInt128

  package init(rawValue: UInt128) { self.rawValue = rawValue }

  package init(_ size: Int) {
    rawValue = (1...Self.longest).contains(size) ? 1 << UInt128(size) : 0
  }

  /// Numbers with spaces between them; nil if it is anything else.
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
