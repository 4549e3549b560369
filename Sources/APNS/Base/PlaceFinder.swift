/// Finds the line and column of a byte in UTF-8 text, as editors show them.
struct PlaceFinder {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0
  private(set) var place = TextPlace()

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Moves to another byte, from the start if it lies before the current one.
  mutating func move(to target: Int) {
    if target < offset { self = PlaceFinder(bytes) }
    let end = min(target, bytes.count)
    while offset < end {
      let byte = bytes[offset]
      offset &+= 1
      let isCarriageReturn = byte == 0x0D && !(offset < bytes.count && bytes[offset] == 0x0A)
      if byte == 0x0A || isCarriageReturn {
        place.line &+= 1
        place.column = 1
      } else if offset == bytes.count || bytes[offset] & 0xC0 != 0x80 {
        place.column &+= 1
      }
    }
  }
}
