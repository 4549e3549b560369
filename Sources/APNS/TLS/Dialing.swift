import CAPNS
import CSystem

/// The way to a connected TCP socket: the addresses of a name, one after the other.
struct Dialing: ~Copyable {
  private let list: UnsafeMutablePointer<addrinfo>?
  private var next: UnsafeMutablePointer<addrinfo>?
  private var known: PeerAddress?
  /// Addresses that have not been tried.
  private var left: Int64 = 0
  private let port: UInt16
  private let keepAlive: KeepAlive
  private let deadline: Deadline
  /// Until when the present address may take: a dead one may not eat the time of
  /// those behind it.
  private var share: Deadline
  private var descriptor: CInt = -1
  private var lastError = ETIMEDOUT

  /// Looks the name up. libc gives that no deadline; what it took counts all the same.
  init(
    host: UnsafePointer<CChar>, port: UInt16, keepAlive: KeepAlive, by deadline: Deadline
  ) throws(Failure) {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = csystem_sock_stream()
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, nil, &hints, &list)
    guard code == 0, let list else {
      let system = code == EAI_SYSTEM ? csystem_errno() : 0
      throw Failure(code == EAI_MEMORY || system == ENOMEM ? APNS_ERR_MEMORY : APNS_ERR_NETWORK) {
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
    self.list = list
    (next, known) = (list, nil)
    (self.port, self.keepAlive, self.deadline, share) = (port, keepAlive, deadline, deadline)
    var each: UnsafeMutablePointer<addrinfo>? = list
    while let address = each {
      left &+= 1
      each = address.pointee.ai_next
    }
  }

  /// Goes to an address that answered before.
  init(_ address: PeerAddress, keepAlive: KeepAlive, by deadline: Deadline) {
    (list, next, known, left, port) = (nil, nil, address, 1, 0)
    (self.keepAlive, self.deadline, share) = (keepAlive, deadline, deadline)
  }

  deinit {
    if descriptor >= 0 { _ = close(descriptor) }
    if let list { freeaddrinfo(list) }
  }

  /// The socket being connected, to wait on; -1 where there is none.
  var pending: CInt { descriptor }

  enum Step {
    /// The socket is the caller's now.
    case connected(CInt)
    case waits(until: Deadline)
    case failed(systemError: CInt)
  }

  mutating func advance() -> Step {
    while true {
      if descriptor < 0 {
        guard begin() else { return .failed(systemError: lastError) }
        continue
      }
      if Readiness.look(for: .writing, on: descriptor) != nil {
        lastError = csystem_socket_error(descriptor)
        if lastError == 0 {
          defer { descriptor = -1 }
          return .connected(descriptor)
        }
      } else if !share.hasPassed {
        return .waits(until: share)
      } else {
        lastError = ETIMEDOUT
      }
      _ = close(descriptor)
      descriptor = -1
    }
  }

  /// Begins with the next address; false when there is none, or no time.
  private mutating func begin() -> Bool {
    while !deadline.hasPassed, let address = nextAddress() {
      let left = deadline.nanoseconds &- Deadline.now
      share = Deadline(nanoseconds: Deadline.now &+ left / (self.left &+ 1))
      let made = csystem_tcp_socket(address.family)
      guard made >= 0 else {
        lastError = csystem_errno()
        continue
      }
      // A lone notification leaves at once; several are put together before they are written.
      _ = csystem_enable(made, CInt(IPPROTO_TCP), TCP_NODELAY)
      keepAlive.apply(to: made)
      switch address.connect(made) {
      case 0, EINPROGRESS, EINTR:
        descriptor = made
        return true
      case let code:
        lastError = code
        _ = close(made)
      }
    }
    return false
  }

  private mutating func nextAddress() -> PeerAddress? {
    if let address = known {
      (known, left) = (nil, 0)
      return address
    }
    while let entry = next {
      next = entry.pointee.ai_next
      left &-= 1
      if let address = PeerAddress(
        entry.pointee.ai_addr, size: entry.pointee.ai_addrlen, port: port)
      {
        return address
      }
    }
    return nil
  }
}
