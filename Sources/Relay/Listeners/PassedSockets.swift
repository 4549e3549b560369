import Foundation
import HTTPServer
import NIOCore
import NIOPosix

/// The sockets that systemd opened for this process (sd_listen_fds(3)). They stay open, so that
/// clients wait in the backlog while a listener reopens, or until the next relay runs.
package struct PassedSockets: Sendable {
  private let all: [ListeningSocket]

  package var names: [String] { all.map(\.name) }

  /// Must be called before any thread starts, because it removes the variables from the
  /// environment: a program that the relay starts does not inherit them.
  package init() {
    let said = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"].map { name in
      defer { unsetenv(name) }
      return getenv(name).map { String(cString: $0) }
    }
    var all: [ListeningSocket] = []
    if said[0].flatMap({ Int32($0) }) == getpid(), let count = said[1].flatMap({ Int32($0) }) {
      let names = said[2]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
      while all.count < count {
        let socket = ListeningSocket(
          name: all.count < names.count ? String(names[all.count]) : "unknown",
          descriptor: 3 + CInt(all.count))
        guard fcntl(socket.descriptor, F_SETFD, FD_CLOEXEC) == 0 else { break }
        all.append(socket)
      }
    }
    self.all = all
  }

  /// The listening sockets with this name: at least one.
  package func named(_ name: String, canBeUnix: Bool = false) throws -> [ListeningSocket] {
    let found = all.filter { $0.name == name }
    guard !found.isEmpty else {
      let others = names.isEmpty ? "none" : names.joined(separator: ", ")
      throw RelayFault(
        "systemd passed no socket '\(name)', only: \(others). FileDescriptorName= of a socket unit is "
          + "its name, and the unit must be started before the service")
    }
    for socket in found { try socket.check(canBeUnix: canBeUnix) }
    return found
  }
}

/// A socket with a name for messages.
package struct ListeningSocket: Sendable {
  let name: String
  let descriptor: CInt

  /// A copy for a server that closes it.
  func copy() throws -> CInt {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw fault(String(cString: strerror(errno))) }
    return copy
  }

  private func fault(_ words: String) -> RelayFault {
    RelayFault("systemd's socket '\(name)' \(words)")
  }

  private func option(_ option: CInt) -> CInt? {
    var value: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 ? value : nil
  }

  fileprivate func check(canBeUnix: Bool) throws {
    guard let type = option(SO_TYPE) else { throw fault("is not a socket") }
    guard type == CInt(SOCK_STREAM.rawValue) else {
      throw fault("is not a stream socket: its unit needs ListenStream=")
    }
    guard option(SO_ACCEPTCONN) == 1 else {
      throw fault("does not listen: its unit needs Accept=no")
    }
    let family = option(SO_DOMAIN)
    guard family == AF_INET || family == AF_INET6 || canBeUnix && family == AF_UNIX else {
      throw fault("has no port: TCP \(canBeUnix ? "or a UNIX socket " : "")is accepted here")
    }
  }

  /// The address and the port; nil for a UNIX socket.
  var address: (host: String, port: Int)? { SocketName.of(descriptor, getsockname) }
}

extension ServerBootstrap {
  func listen(on socket: ListeningSocket) throws -> any Channel {
    let channel = try withBoundSocket(socket.copy()).wait()
    // SwiftNIO has shortened the backlog.
    _ = Foundation.listen(socket.descriptor, 4096)
    return channel
  }
}

extension [ListeningSocket] {
  /// The address that most machines reach; nil if all are UNIX sockets.
  var mostOpenHost: String? {
    let hosts = compactMap { $0.address?.host }
    return hosts.first { !Authority.isLoopback($0) } ?? hosts.first
  }
}
