import COpenSSL
import Foundation

/// A connection to a server over TCP, with or without TLS, or over a UNIX socket. Each call ends at a
/// deadline (monotonic) that the peer cannot extend.
final class ClientSocket {
  enum Failure: Error {
    /// The deadline has passed.
    case late
    case broken(String)
  }

  private static let keepaliveS: CInt = 15
  /// How long a system call may block, which saves a call of poll().
  private static let waitMS = 500

  let descriptor: CInt
  private var ssl: OpaquePointer?
  /// In TLS 1.3 a server rejects a missing client certificate only after the handshake, if it
  /// reports it.
  private var mayWantCertificate = false

  /// Connects to a UNIX socket before `until`.
  init(path: String, until: Int64) throws(Failure) {
    descriptor = try Self.connect(path: path, until: until)
    waitWithinCalls()
  }

  /// Connects to a host before `until`.
  init(host: String, port: Int, _ tls: ClientTLS?, until: Int64) throws(Failure) {
    descriptor = try Self.connect(host: host, port: port, until: until)
    // From here on deinit closes the connection.
    if let tls {
      Self.ignorePipes
      // Without waitWithinCalls: OpenSSL would block until a TLS record is complete.
      try shake(hands: tls, host, until: until)
    } else {
      waitWithinCalls()
    }
  }

  /// OpenSSL writes without MSG_NOSIGNAL.
  private static let ignorePipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

  deinit {
    if let ssl {
      _ = SSL_shutdown(ssl)
      ERR_clear_error()
      SSL_free(ssl)
    }
    close(descriptor)
  }

  private func waitWithinCalls() {
    var limit = timeval(tv_sec: 0, tv_usec: Self.waitMS * 1000)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(
        descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
  }

  // MARK: Bytes

  func send(_ bytes: UnsafeRawBufferPointer, until: Int64) throws(Failure) {
    var rest = bytes
    while !rest.isEmpty {
      guard RelayClock.monotonic < until else { throw .late }
      let count: Int
      if let ssl {
        ERR_clear_error()
        let result = SSL_write(ssl, rest.baseAddress, CInt(min(rest.count, 1 << 30)))
        guard result > 0 else {
          try wait(ssl, result, until)
          continue
        }
        count = Int(result)
      } else {
        count = Glibc.send(descriptor, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL))
        guard count > 0 else {
          try wait(POLLOUT, until)
          continue
        }
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  func send(_ bytes: [UInt8], until: Int64) throws(Failure) {
    try bytes.withUnsafeBufferPointer { bytes throws(Failure) in
      try send(UnsafeRawBufferPointer(bytes), until: until)
    }
  }

  /// Reads available data, at least one byte.
  func receive(until: Int64) throws(Failure) -> ArraySlice<UInt8> {
    var room = [UInt8](repeating: 0, count: 4096)
    let count = try room.withUnsafeMutableBufferPointer { room throws(Failure) in
      try receive(into: UnsafeMutableRawBufferPointer(room), until: until)
    }
    return room[..<count]
  }

  /// Reads available data, at least one byte.
  func receive(into room: UnsafeMutableRawBufferPointer, until: Int64) throws(Failure) -> Int {
    while true {
      // A peer that sends single bytes must not extend the deadline.
      guard RelayClock.monotonic < until else { throw .late }
      if let ssl {
        ERR_clear_error()
        let result = SSL_read(ssl, room.baseAddress, CInt(min(room.count, 1 << 30)))
        if result > 0 {
          mayWantCertificate = false
          return Int(result)
        }
        try wait(ssl, result, until)
      } else {
        let count = recv(descriptor, room.baseAddress, room.count, 0)
        if count > 0 { return count }
        if count == 0 { throw .broken("it closed the connection") }
        try wait(POLLIN, until)
      }
    }
  }

  /// Call it after a failed system call.
  private func wait(_ events: CInt, _ until: Int64) throws(Failure) {
    switch errno {
    case EAGAIN, EINTR: try Self.wait(descriptor, events, until)
    default: throw .broken(Self.reason(errno))
    }
  }

  /// Call it after an OpenSSL call that could not proceed.
  private func wait(_ ssl: OpaquePointer, _ result: CInt, _ until: Int64) throws(Failure) {
    let error = errno
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: try Self.wait(descriptor, POLLIN, until)
    case SSL_ERROR_WANT_WRITE: try Self.wait(descriptor, POLLOUT, until)
    case SSL_ERROR_ZERO_RETURN: throw ended("it closed the connection")
    case SSL_ERROR_SYSCALL:
      throw ended(
        ClientTLS.reason ?? (error == 0 ? "it closed the connection" : Self.reason(error)))
    default:
      let verified = SSL_get_verify_result(ssl)
      if verified != X509_V_OK {
        ERR_clear_error()
        throw .broken(
          "its certificate is not trusted: "
            + String(cString: X509_verify_cert_error_string(verified)))
      }
      throw ended("TLS: \(ClientTLS.reason ?? "it failed")")
    }
  }

  private func ended(_ words: String) -> Failure {
    .broken(mayWantCertificate ? "\(words); perhaps it requires a client certificate" : words)
  }

  private static func wait(_ descriptor: CInt, _ events: CInt, _ until: Int64) throws(Failure) {
    while true {
      let left = until - RelayClock.monotonic
      guard left > 0 else { throw .late }
      var watched = pollfd(fd: descriptor, events: Int16(events), revents: 0)
      let count = poll(&watched, 1, CInt(min(left, 1 << 20)))
      if count > 0 { return }
      if count < 0, errno != EINTR { throw .broken(reason(errno)) }
    }
  }

  private static func reason(_ error: CInt) -> String { String(cString: strerror(error)) }

  // MARK: Connecting

  private func shake(hands tls: ClientTLS, _ host: String, until: Int64) throws(Failure) {
    let ssl: OpaquePointer
    do throws(RelayFault) {
      ssl = try tls.open(descriptor, to: host)
    } catch {
      throw .broken(error.description)
    }
    self.ssl = ssl
    while true {
      ERR_clear_error()
      let result = SSL_connect(ssl)
      if result == 1 {
        mayWantCertificate = tls.certificate == nil
        return
      }
      try wait(ssl, result, until)
    }
  }

  private static func connect(path: String, until: Int64) throws(Failure) -> CInt {
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: place.sun_path) else {
      throw .broken("the socket path is too long")
    }
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: bytes) }
    return try withUnsafePointer(to: &place) { place throws(Failure) in
      try place.withMemoryRebound(to: sockaddr.self, capacity: 1) { place throws(Failure) in
        try connect(AF_UNIX, place, socklen_t(MemoryLayout<sockaddr_un>.size), until: until)
      }
    }
  }

  /// Tries all addresses of the host until the deadline.
  private static func connect(host: String, port: Int, until: Int64) throws(Failure) -> CInt {
    let found = try HostLookup.find(host, port, until: until)
    defer { freeaddrinfo(found.first) }
    var left = found.count
    var failure = Failure.broken("it has no address")
    var next: UnsafeMutablePointer<addrinfo>? = found.first
    while let one = next?.pointee {
      do throws(Failure) {
        // An address without a response leaves time for the others.
        let now = RelayClock.monotonic
        return try connect(
          one.ai_family, one.ai_addr, one.ai_addrlen,
          until: left > 1 ? now + max(1, (until - now) / Int64(left)) : until)
      } catch {
        failure = error
      }
      left -= 1
      next = one.ai_next
    }
    throw failure
  }

  private static func connect(
    _ family: CInt, _ place: UnsafePointer<sockaddr>, _ length: socklen_t, until: Int64
  ) throws(Failure) -> CInt {
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(family, kind, 0)
    guard descriptor >= 0 else { throw .broken(reason(errno)) }
    do throws(Failure) {
      if Glibc.connect(descriptor, place, length) != 0 {
        // A UNIX socket with a full queue returns EAGAIN, which poll() cannot wait for.
        guard errno == EINPROGRESS || errno == EINTR else { throw .broken(reason(errno)) }
        try wait(descriptor, POLLOUT, until)
        var error: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        guard error == 0 else { throw .broken(reason(error)) }
      }
    } catch {
      close(descriptor)
      throw error
    }
    if family != AF_UNIX {
      for (level, option, value) in [
        (CInt(IPPROTO_TCP), TCP_NODELAY, 1), (SOL_SOCKET, SO_KEEPALIVE, 1),
        (CInt(IPPROTO_TCP), TCP_KEEPIDLE, keepaliveS), (CInt(IPPROTO_TCP), TCP_KEEPINTVL, 5),
        (CInt(IPPROTO_TCP), TCP_KEEPCNT, 3),
      ] as [(CInt, CInt, CInt)] {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
      }
    }
    return descriptor
  }
}
