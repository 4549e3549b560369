import NIOCore

/// The fields of Linux's tcp_info that a listener needs.
struct ConnectionInfo {
  private typealias Bytes = (
    UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
    UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64
  )

  /// Segments that the peer has not acknowledged.
  let unacknowledged: UInt32
  /// Bytes received from the peer, read or not.
  let bytesReceived: UInt64
  /// Bytes not sent yet.
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
