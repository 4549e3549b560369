import Foundation
import Synchronization

/// Resolves a host name. getaddrinfo() has no time limit, so it runs on a thread that is abandoned
/// if it takes too long.
final class HostLookup: Sendable {
  private struct Result {
    var isOver = false
    var isAbandoned = false
    var code: CInt = 0
    nonisolated(unsafe) var first: UnsafeMutablePointer<addrinfo>?
  }

  private let result = Mutex(Result())
  private let done = DispatchSemaphore(value: 0)

  /// The addresses, which the caller frees with freeaddrinfo().
  static func find(
    _ host: String, _ port: Int, until: Int64
  ) throws(ClientSocket.Failure) -> (first: UnsafeMutablePointer<addrinfo>, count: Int) {
    var code: CInt = 0
    var first: UnsafeMutablePointer<addrinfo>?
    if ClientTLS.isAddress(host) {
      code = look(host, port, AI_NUMERICHOST, &first)
    } else {
      (code, first) = try HostLookup().find(host, port, until)
    }
    guard code == 0, let first else {
      throw .broken("the name \(host) cannot be resolved: \(String(cString: gai_strerror(code)))")
    }
    var count = 0
    var next: UnsafeMutablePointer<addrinfo>? = first
    while let one = next {
      count += 1
      next = one.pointee.ai_next
    }
    return (first, count)
  }

  /// Returns the code of getaddrinfo(). `flags` are added to those for a port.
  static func look(
    _ host: String, _ port: Int, _ flags: CInt, _ first: inout UnsafeMutablePointer<addrinfo>?
  ) -> CInt {
    var hints = addrinfo()
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    hints.ai_flags = flags | AI_NUMERICSERV
    return getaddrinfo(host, "\(port)", &hints, &first)
  }

  private func find(
    _ host: String, _ port: Int, _ until: Int64
  ) throws(ClientSocket.Failure) -> (CInt, UnsafeMutablePointer<addrinfo>?) {
    Thread.begin("lookup") { [self] in
      var first: UnsafeMutablePointer<addrinfo>?
      let code = Self.look(host, port, 0, &first)
      let isAbandoned = result.withLock { result in
        (result.isOver, result.code, result.first) = (true, code, first)
        return result.isAbandoned
      }
      if isAbandoned, let first { freeaddrinfo(first) }
      done.signal()
    }
    _ = done.wait(timeout: .now() + .milliseconds(Int(max(0, until - RelayClock.monotonic))))
    let (isOver, code, first) = result.withLock { result in
      result.isAbandoned = !result.isOver
      return (result.isOver, result.code, result.first.map { UInt(bitPattern: $0) })
    }
    guard isOver else { throw .late }
    return (code, first.flatMap { UnsafeMutablePointer(bitPattern: $0) })
  }
}
