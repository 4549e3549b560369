/// The six bytes a gateway sends before it closes (Binary Provider API, error response).
package struct ErrorPacket: Equatable, Sendable {
  package static let command: UInt8 = 8
  package static let size = 6
  /// The status of a notification that has no error.
  package static let noError: UInt8 = 0
  /// The status with the identifier of the last accepted notification.
  package static let shutdown: UInt8 = 10

  package var status: UInt8
  package var identifier: UInt32

  package init(status: UInt8, identifier: UInt32) {
    self.status = status
    self.identifier = identifier
  }

  /// Writes the packet's six bytes.
  package func encode(into target: UnsafeMutableRawPointer) {
    var writer = ByteWriter(target)
    writer.write(Self.command)
    writer.write(status)
    writer.write(identifier)
  }
}

/// Assembles an error packet from pieces of any size.
package struct ErrorPacketReader {
  private var packet = ErrorPacket(status: 0, identifier: 0)
  /// Bytes of the packet read so far.
  package private(set) var count = 0

  package init() {}

  /// Takes bytes that arrived, and returns the packet once it is complete. Bytes after it
  /// are ignored.
  package mutating func read(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> ErrorPacket? {
    for byte in bytes {
      switch count {
      case 0:
        guard byte == ErrorPacket.command else { throw WireError(.unknownCommand, at: 0) }
      case 1: packet.status = byte
      default: packet.identifier = packet.identifier &<< 8 | UInt32(byte)
      }
      count &+= 1
      if count == ErrorPacket.size {
        let whole = packet
        self = ErrorPacketReader()
        return whole
      }
    }
    return nil
  }
}
