/// A channel's identifier: random bytes in base64.
enum ChannelIdentifier {
  private static let size = 16

  /// nil if it is not base64, or longer than an identifier.
  static func bytes(of text: String) -> [UInt8]? {
    guard let bytes = Base64.bytes(of: text), (1...size).contains(bytes.count) else { return nil }
    return bytes
  }

  static func make(_ generator: inout SplitMix64) -> String {
    var bytes: [UInt8] = []
    while bytes.count < size {
      let drawn = generator.next()
      for shift in stride(from: 0, to: 64, by: 8) {
        bytes.append(UInt8(truncatingIfNeeded: drawn >> UInt64(shift)))
      }
    }
    return Base64.text(of: bytes)
  }
}

package struct Subscription: Sendable, Equatable {
  package var token: [UInt8]
  package var channel: String
}
