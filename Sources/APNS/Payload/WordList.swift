/// Words in one literal, each ended by a newline: as literals of their own they would
/// take several times the room, in relocations and symbols.
struct WordList {
  private let text: UnsafeRawBufferPointer

  init(_ words: StaticString) {
    text = UnsafeRawBufferPointer(start: words.utf8Start, count: words.utf8CodeUnitCount)
  }

  /// The word of that number, counted from 0; empty where there are not so many.
  @inline(never)
  subscript(_ number: Int) -> UnsafeRawBufferPointer {
    var start = 0
    var left = number
    for index in 0..<text.count where text[index] == 0x0A {
      if left == 0 { return UnsafeRawBufferPointer(rebasing: text[start..<index]) }
      left &-= 1
      start = index &+ 1
    }
    return UnsafeRawBufferPointer(rebasing: text[0..<0])
  }
}
