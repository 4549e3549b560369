import APNS

/// The length of a frame, valid or not. Frames after a rejection are discarded but counted.
package enum FrameExtent {
  case incomplete
  case bytes(Int)
  /// The start of the next frame is unknown.
  case unknown

  private static let framedMax = 5 * (3 + 0xFFFF)

  package static func measure(_ bytes: UnsafeRawBufferPointer) -> FrameExtent {
    guard let first = bytes.first else { return .incomplete }
    guard let command = Command(rawValue: first) else { return .unknown }
    switch command {
    case .simple: return legacy(bytes, lengthAt: 1)
    case .enhanced: return legacy(bytes, lengthAt: 9)
    case .framed:
      guard bytes.count >= 5 else { return .incomplete }
      let items = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self))
      guard items <= framedMax else { return .unknown }
      return bytes.count >= 5 + Int(items) ? .bytes(5 + Int(items)) : .incomplete
    }
  }

  private static func legacy(_ bytes: UnsafeRawBufferPointer, lengthAt offset: Int) -> FrameExtent {
    var end = offset
    for _ in 0..<2 {
      guard bytes.count >= end + 2 else { return .incomplete }
      let length = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt16.self))
      end += 2 + Int(length)
    }
    return bytes.count >= end ? .bytes(end) : .incomplete
  }
}
