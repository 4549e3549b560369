/// Reads texts that lie one after the other, each behind its length.
struct PackedTexts {
  private var place: UnsafePointer<UInt8>

  init(_ place: UnsafePointer<UInt8>) { self.place = place }

  /// nil if it was packed as nil.
  mutating func next() -> UnsafeBufferPointer<UInt8>? {
    var (length, shift) = (0, 0)
    var byte: UInt8
    repeat {
      byte = place.pointee
      length |= Int(byte & 0x7f) << shift
      (place, shift) = (place + 1, shift + 7)
    } while byte > 0x7f
    if length == 0 { return nil }
    defer { place += length - 1 }
    return UnsafeBufferPointer(start: place, count: length - 1)
  }

  mutating func bytes() -> [UInt8] { next().map { Array($0) } ?? [] }

  mutating func text() -> String? { next().map { String(decoding: $0, as: UTF8.self) } }
}

extension [UInt8] {
  /// Appends a text behind its length plus 1 in groups of seven bits, or 0 for nil.
  mutating func pack(_ text: (some Collection<UInt8>)?) {
    var rest = text.map { $0.count + 1 } ?? 0
    while rest > 0x7f {
      append(UInt8(rest & 0x7f) | 0x80)
      rest >>= 7
    }
    append(UInt8(rest))
    if let text { append(contentsOf: text) }
  }

  /// In the order of `KeptPush.Text`, then each header, then nil.
  mutating func pack(_ push: RecentPush) {
    pack(push.token)
    pack(push.bytes)
    pack(push.form.identifierText?.utf8)
    pack(push.uniqueIdentifier?.utf8)
    pack(push.reason?.utf8)
    pack(push.topic?.utf8)
    pack(push.broadcast?.channel.utf8)
    if case .http2(_, _, let headers) = push.form {
      for header in headers {
        pack(header.name.utf8)
        pack(header.value.utf8)
      }
    }
    append(0)
  }
}

extension RecentPush.Form {
  fileprivate var identifierText: String? {
    switch self {
    case .binary(_, let identifier, _, _): identifier.map { "\($0)" }
    case .http2(_, let identifier, _): identifier
    }
  }
}
