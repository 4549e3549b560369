/// A device that is gone, as the feedback service lists it.
package struct FeedbackTuple {
  package static let headerSize = 6
  package static let maxSize = headerSize + 0xFFFF

  /// UNIX seconds.
  package var timestamp: UInt32
  /// The token's bytes belong to the run that was decoded.
  package var token: UnsafeRawBufferPointer

  package init(timestamp: UInt32, token: UnsafeRawBufferPointer) {
    self.timestamp = timestamp
    self.token = token
  }

  /// The size on the wire in bytes; nil if the token is too long for its length field.
  package var size: Int? { token.count <= 0xFFFF ? Self.headerSize &+ token.count : nil }

  /// Writes the tuple; `target` has room for `size` bytes.
  package func encode(into target: UnsafeMutableRawPointer) {
    var writer = ByteWriter(target)
    writer.write(timestamp)
    writer.write(UInt16(truncatingIfNeeded: token.count))
    writer.write(token)
  }

  /// The tuple at the start of `bytes`; nil if it is not complete yet.
  package static func decode(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> FeedbackTuple? {
    var cursor = ByteCursor(bytes)
    guard let timestamp = cursor.readUInt32(), let length = cursor.readUInt16() else { return nil }
    if length == 0 { throw WireError(.missingToken, at: 4) }
    guard let token = cursor.readBytes(Int(length)) else { return nil }
    return FeedbackTuple(timestamp: timestamp, token: token)
  }
}
