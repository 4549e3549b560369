import CAPNS
import CSystem

/// Where to connect to, and the name its certificate must carry.
struct Endpoint: ~Copyable {
  let host: UnsafeMutablePointer<CChar>
  let serverName: UnsafeMutablePointer<CChar>
  let port: UInt16

  /// Copies the names; `orHost` and `orPort` are for what the caller left out.
  init(
    _ given: UnsafePointer<CChar>?, orHost: UnsafePointer<CChar>,
    serverName: UnsafePointer<CChar>?, port: UInt16, orPort: Int32
  ) throws(Failure) {
    let host = given ?? orHost
    guard host.pointee != 0 else { throw Failure(APNS_ERR_ARGUMENT, "host is empty") }
    if let serverName, serverName.pointee == 0 {
      throw Failure(APNS_ERR_ARGUMENT, "server_name is empty")
    }
    guard let copy = strdup(host) else { throw .outOfMemory }
    guard let name = strdup(serverName ?? host) else {
      free(copy)
      throw .outOfMemory
    }
    self.host = copy
    self.serverName = name
    self.port = port == 0 ? UInt16(truncatingIfNeeded: orPort) : port
  }

  deinit {
    free(host)
    free(serverName)
  }

  /// "gateway.example:2195" at the end of a message.
  func append(to message: inout Message) {
    message.append(host)
    message.append(":")
    message.append(Int(port))
  }

  /// A connected TCP socket, from the first of the name's addresses that answers.
  func connect(_ deadline: Deadline) throws(Failure) -> CInt {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = csystem_sock_stream()
    var list: UnsafeMutablePointer<addrinfo>?
    // libc gives this no deadline; what it took counts all the same.
    let code = getaddrinfo(host, nil, &hints, &list)
    guard code == 0, let list else {
      let system = code == EAI_SYSTEM ? csystem_errno() : 0
      throw Failure(APNS_ERR_NETWORK) {
        $0.append("cannot resolve ")
        $0.append(host)
        $0.append(": ")
        if system != 0 {
          $0.append("system error ")
          $0.append(Int(system))
        } else {
          $0.append(gai_strerror(code))
        }
      }
    }
    defer { freeaddrinfo(list) }

    var left: Int64 = 0
    var next: UnsafeMutablePointer<addrinfo>? = list
    while let address = next {
      left &+= 1
      next = address.pointee.ai_next
    }
    var lastError = ETIMEDOUT
    next = list
    while let address = next {
      if deadline.hasPassed { break }
      // A dead address may not eat the time of those behind it.
      let share = Deadline(
        nanoseconds: Deadline.now &+ (deadline.nanoseconds &- Deadline.now) / left)
      switch attempt(address.pointee, share) {
      case .connected(let descriptor): return descriptor
      case .failed(let code): lastError = code
      }
      left &-= 1
      next = address.pointee.ai_next
    }
    let status = lastError == ETIMEDOUT ? APNS_ERR_TIMEOUT : APNS_ERR_NETWORK
    throw Failure(status, systemError: lastError) {
      $0.append("cannot connect to ")
      append(to: &$0)
    }
  }

  private enum Attempt {
    case connected(CInt)
    case failed(CInt)
  }

  private func attempt(_ address: addrinfo, _ deadline: Deadline) -> Attempt {
    guard let target = address.ai_addr else { return .failed(EINVAL) }
    csystem_set_port(target, port)
    let descriptor = csystem_tcp_socket(address.ai_family)
    guard descriptor >= 0 else { return .failed(csystem_errno()) }
    // A lone notification leaves at once; several are put together before they are written.
    _ = csystem_enable(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY)
    _ = csystem_enable(descriptor, SOL_SOCKET, SO_KEEPALIVE)
    if csystem_connect(descriptor, target, address.ai_addrlen) == 0 {
      return .connected(descriptor)
    }
    var code = csystem_errno()
    if code == EINPROGRESS || code == EINTR {
      code =
        Readiness.wait(for: .writing, on: descriptor, until: deadline) == nil
        ? ETIMEDOUT : csystem_socket_error(descriptor)
      if code == 0 { return .connected(descriptor) }
    }
    _ = close(descriptor)
    return .failed(code)
  }
}
