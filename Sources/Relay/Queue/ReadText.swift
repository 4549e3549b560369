import Glibc

extension String {
  /// nil: it is no UTF-8, so that it would be another text.
  package init?(read bytes: UnsafeRawBufferPointer) {
    // To compare is faster than to validate.
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
