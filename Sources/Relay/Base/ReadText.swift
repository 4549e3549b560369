import Glibc

extension String {
  /// nil if the bytes are not UTF-8, because decoding would change the text.
  package init?(read bytes: UnsafeRawBufferPointer) {
    // Decoding and comparing is faster than validating.
    let text = String(decoding: bytes, as: UTF8.self)
    let isSame =
      text.utf8.withContiguousStorageIfAvailable { own in
        own.count == bytes.count
          && (bytes.isEmpty || memcmp(own.baseAddress!, bytes.baseAddress!, own.count) == 0)
      } ?? text.utf8.elementsEqual(bytes)
    guard isSame else { return nil }
    self = text
  }
}
