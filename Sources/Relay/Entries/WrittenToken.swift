/// A device token as its entry has it. A token of a list is a range of the list's text, because a
/// copy of each would cost an allocation.
package struct WrittenToken: Sendable {
  private enum Source {
    case text(String)
    case part([UInt8], Range<Int>)
  }

  private var source: Source

  package init(_ text: String) { source = .text(text) }

  /// `place` must be a range of `list` that is UTF-8.
  init(_ place: Range<Int>, of list: [UInt8]) { source = .part(list, place) }

  package var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  package var isEmpty: Bool {
    switch source {
    case .text(let text): text.isEmpty
    case .part(_, let place): place.isEmpty
    }
  }

  @inline(__always)
  package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows
    -> Result
  {
    switch source {
    case .text(var text): try text.withUTF8(body)
    case .part(let list, let place):
      try list.withUnsafeBufferPointer { try body(UnsafeBufferPointer(rebasing: $0[place])) }
    }
  }
}

extension WrittenToken: Equatable {
  package static func == (one: WrittenToken, other: WrittenToken) -> Bool {
    one.withBytes { bytes in other.withBytes { bytes.elementsEqual($0) } }
  }
}

extension WrittenToken: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }
}
