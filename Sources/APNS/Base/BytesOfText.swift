import CSystem

extension UnsafeRawBufferPointer {
  /// The bytes of a literal.
  @inline(__always)
  init(_ text: StaticString) { self.init(start: text.utf8Start, count: text.utf8CodeUnitCount) }

  func equals(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && starts(with: text)
  }

  func starts(with text: StaticString) -> Bool {
    guard let baseAddress, count >= text.utf8CodeUnitCount else { return false }
    return memcmp(baseAddress, text.utf8Start, text.utf8CodeUnitCount) == 0
  }

  func ends(with text: StaticString) -> Bool {
    count >= text.utf8CodeUnitCount
      && UnsafeRawBufferPointer(rebasing: suffix(text.utf8CodeUnitCount)).starts(with: text)
  }

  func contains(_ text: StaticString) -> Bool {
    csystem_contains(baseAddress, count, text.utf8Start, text.utf8CodeUnitCount) != 0
  }
}
