/// A device that is gone, as the feedback service lists it.
package struct FeedbackTuple {
  package static let headerSize = 6
  package static let longest = headerSize + 0xFFFF

  /// UNIX seconds.
  package var timestamp: UInt32
  /// Its bytes are those of the run it was decoded from.
  package var token: UnsafeRawBufferPointer

  package init(timestamp: UInt32, token: UnsafeRawBufferPointer) {
    self.timestamp = timestamp
    self.token = token
  }

  /// How many bytes it takes on the wire; nil where the token is too long for its field.
  package var size: Int? { token.count <= 0xFFFF ? Self.headerSize &+ token.count : nil }

  /// Writes the tuple; `target` has room for `size` bytes.
  package func encode(into target: UnsafeMutableRawPointer) {
    var writer = ByteWriter(target)
    writer.write(timestamp)
    writer.write(UInt16(truncatingIfNeeded: token.count))
    writer.write(token)
  }

  /// The tuple that `bytes` begins with; nil where it is not all there yet.
  package static func decode(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> FeedbackTuple? {
    var cursor = ByteCursor(bytes)
    guard let timestamp = cursor.readUInt32(), let length = cursor.readUInt16() else { return nil }
    if length == 0 { throw WireError(.missingToken, at: 4) }
    guard let token = cursor.readBytes(Int(length)) else { return nil }
    return FeedbackTuple(timestamp: timestamp, token: token)
  }
}
