import CSystem

/// Words in one literal, each ended by a newline, or by a NUL where C reads it too.
/// Separate literals would take several times the space in relocations and symbols.
struct WordList {
  private let text: UnsafeRawBufferPointer

  init(_ words: StaticString) { text = UnsafeRawBufferPointer(words) }

  /// The word of that number, from 0; empty if there are fewer words.
  @inline(never)
  subscript(_ number: Int) -> UnsafeRawBufferPointer {
    var start = 0
    var left = number
    guard left >= 0 else { return UnsafeRawBufferPointer(rebasing: text[0..<0]) }
    // A response needs several lookups, so words are skipped as fast as libc can.
    while let end = end(behind: start) {
      if left == 0 { return UnsafeRawBufferPointer(rebasing: text[start..<end]) }
      left &-= 1
      start = end &+ 1
    }
    return UnsafeRawBufferPointer(rebasing: text[0..<0])
  }

  private func end(behind start: Int) -> Int? {
    guard start < text.count, let base = text.baseAddress, let last = text.last,
      let end = memchr(base + start, Int32(last), text.count &- start)
    else { return nil }
    return UnsafeRawPointer(end) - base
  }
}
