/// Words in one literal, each ended by a newline, or by a NUL where C reads it too.
/// Separate literals would take several times the space in relocations and symbols.
struct WordList {
  private let text: UnsafeRawBufferPointer

  init(_ words: StaticString) {
    text = UnsafeRawBufferPointer(start: words.utf8Start, count: words.utf8CodeUnitCount)
  }

  /// The word of that number, from 0; empty if there are fewer words.
  @inline(never)
  subscript(_ number: Int) -> UnsafeRawBufferPointer {
    var start = 0
    var left = number
    for index in 0..<text.count where isEnd(index) {
      if left == 0 { return UnsafeRawBufferPointer(rebasing: text[start..<index]) }
      left &-= 1
      start = index &+ 1
    }
    return UnsafeRawBufferPointer(rebasing: text[0..<0])
  }

  /// The number of the first word that equals `wanted` after its first `prefix` bytes.
  @inline(never)
  func number(of wanted: UnsafeRawBufferPointer, behind prefix: Int) -> Int? {
    var start = prefix
    var number = 0
    for index in 0..<text.count where isEnd(index) {
      if index &- start == wanted.count {
        var same = 0
        while same < wanted.count, text[start &+ same] == wanted[same] { same &+= 1 }
        if same == wanted.count { return number }
      }
      number &+= 1
      start = index &+ 1 &+ prefix
    }
    return nil
  }

  private func isEnd(_ index: Int) -> Bool { text[index] == 0x0A || text[index] == 0 }
}
