import NIOCore

/// What the system knows of a connection: Linux's tcp_info, as far as a door asks for it.
struct ConnectionInfo {
  private typealias Bytes = (
    UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
    UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64
  )

  /// Segments that the peer has not acknowledged.
  let unacknowledged: UInt32
  /// Bytes that came from the peer, read or not.
  let bytesReceived: UInt64
  /// Bytes that were not sent yet.
  let unsent: UInt32

  static func read(_ options: any SocketOptionProvider) -> EventLoopFuture<ConnectionInfo> {
    // TCP_INFO
    options.unsafeGetSocketOption(level: .tcp, name: .init(rawValue: 11)).map { (bytes: Bytes) in
      withUnsafeBytes(of: bytes) {
        ConnectionInfo(
          unacknowledged: $0.load(fromByteOffset: 24, as: UInt32.self),
          bytesReceived: $0.load(fromByteOffset: 128, as: UInt64.self),
          unsent: $0.load(fromByteOffset: 144, as: UInt32.self))
      }
    }
  }
}
