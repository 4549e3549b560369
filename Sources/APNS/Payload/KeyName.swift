/// A key's name with its escapes resolved. A name longer than any known name has no bytes.
struct KeyName {
  private var bytes = InlineArray<32, UInt8>(repeating: 0)
  private(set) var count = 0

  @inline(never)
  init(_ text: UnsafeRawBufferPointer) {
    var index = 0
    while index < text.count {
      var byte = text[index]
      if byte == UInt8(ascii: "\\") {
        guard let escape = try? JSONEscape.read(text, at: index), escape.scalar < 0x80 else {
          count = 0
          return
        }
        byte = UInt8(truncatingIfNeeded: escape.scalar)
        index &+= escape.length
      } else {
        index &+= 1
      }
      guard count < bytes.count else {
        count = 0
        return
      }
      bytes[count] = byte
      count &+= 1
    }
  }

  /// Looks the name up among the keys of an object.
  @inline(never)
  func find(in object: PayloadObject) -> (number: Int, type: PayloadType)? {
    var copy = bytes
    return withUnsafeBytes(of: &copy) {
      object.find(UnsafeRawBufferPointer(rebasing: $0[0..<count]))
    }
  }

  @inline(never)
  func equals(_ name: UnsafeRawBufferPointer) -> Bool {
    guard count == name.count else { return false }
    for index in 0..<count where bytes[index] != name[index] { return false }
    return true
  }

  func equals(_ name: StaticString) -> Bool {
    equals(UnsafeRawBufferPointer(name))
  }

  /// The number of characters to change, insert or remove to turn one into the other.
  @inline(never)
  func distance(to name: UnsafeRawBufferPointer) -> Int {
    guard count > 0, name.count < 32 else { return .max }
    var row = InlineArray<33, UInt8>(repeating: 0)
    for index in 0..<33 { row[index] = UInt8(truncatingIfNeeded: index) }
    for outer in 0..<name.count {
      var diagonal = row[0]
      row[0] = UInt8(truncatingIfNeeded: outer &+ 1)
      for inner in 0..<count {
        let changed = diagonal &+ (bytes[inner] == name[outer] ? 0 : 1)
        diagonal = row[inner &+ 1]
        row[inner &+ 1] = min(changed, min(diagonal, row[inner]) &+ 1)
      }
    }
    return Int(row[count])
  }
}
