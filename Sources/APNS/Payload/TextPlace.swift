/// Where in a text a byte stands, as editors show it: lines and columns from 1.
struct TextPlace {
  private let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0
  private(set) var line = 1
  /// In characters of Unicode, not in bytes.
  private(set) var column = 1

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Goes to another place, from where it is if that lies before it.
  mutating func move(to target: Int) {
    if target < offset { self = TextPlace(bytes) }
    let end = min(target, bytes.count)
    while offset < end {
      let byte = bytes[offset]
      offset &+= 1
      let isCarriageReturn = byte == 0x0D && !(offset < bytes.count && bytes[offset] == 0x0A)
      if byte == 0x0A || isCarriageReturn {
        line &+= 1
        column = 1
      } else if offset == bytes.count || bytes[offset] & 0xC0 != 0x80 {
        column &+= 1
      }
    }
  }
}
