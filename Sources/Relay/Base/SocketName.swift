import Glibc

/// Names as the system's calls write them.
enum SocketName {
  /// The host and the port of one end of a socket; nil for a UNIX socket. `ask` is getsockname or
  /// getpeername.
  static func of(
    _ descriptor: CInt,
    _ ask: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
  ) -> (host: String, port: Int)? {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let isKnown = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        ask(descriptor, $0, &size) == 0
          && [AF_INET, AF_INET6].contains(CInt($0.pointee.sa_family))
          && getnameinfo(
            $0, size, &host, socklen_t(host.count), &port, socklen_t(port.count),
            NI_NUMERICHOST | NI_NUMERICSERV) == 0
      }
    }
    return isKnown ? (text(host), Int(text(port)) ?? 0) : nil
  }

  /// The name of this machine.
  static var ofHost: String {
    var name = [CChar](repeating: 0, count: 256)
    gethostname(&name, name.count - 1)
    return text(name)
  }

  private static func text(_ name: [CChar]) -> String {
    String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
