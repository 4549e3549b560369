import Glibc

/// Reports the service's state to systemd (sd_notify) by datagrams to the socket in NOTIFY_SOCKET.
/// A manager that does not read them blocks nothing.
package struct ServiceManager {
  private let path: [UInt8]?
  /// The interval of the watchdog in milliseconds; nil if it is off.
  package let watchdogMS: Int64?

  package init() {
    path = getenv("NOTIFY_SOCKET").map { Array(String(cString: $0).utf8) }
    let isMine = getenv("WATCHDOG_PID").map { Int32(String(cString: $0)) == getpid() } ?? true
    let period = getenv("WATCHDOG_USEC").flatMap { Int64(String(cString: $0)) }
    watchdogMS = isMine ? period.map { max(1, $0 / 2000) } : nil
  }

  package func say(_ text: String) {
    var address = sockaddr_un()
    guard let path, let first = path.first,
      first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
      path.count < MemoryLayout.size(ofValue: address.sun_path)
    else { return }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { room in
      room.copyBytes(from: path)
      // An abstract socket: no file, and no NUL at its end.
      if first == UInt8(ascii: "@") { room[0] = 0 }
    }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    let bytes = Array(text.utf8)
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = sendto(
          descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, size)
      }
    }
  }
}
