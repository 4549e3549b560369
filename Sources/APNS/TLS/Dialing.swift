import CAPNS
import CSystem

/// Connects a TCP socket: tries the addresses of a name one after the other.
struct Dialing: ~Copyable {
  private var list: UnsafeMutablePointer<addrinfo>?
  private var next: UnsafeMutablePointer<addrinfo>?
  /// The name while its addresses are not known yet, and what looks them up.
  private var sought: UnsafePointer<CChar>?
  private let lookup: NameLookup
  private var known: PeerAddress?
  /// How many addresses have not been tried.
  private var left: Int64 = 0
  private let port: UInt16
  private let keepAlive: KeepAlive
  private let deadline: Deadline
  /// When the current address has to have answered: a dead one must not use up the time of the
  /// addresses after it.
  private var share: Deadline
  private var descriptor: CInt = -1
  private var lastError = ETIMEDOUT

  /// Looks up the name, whose string has to outlive this object. libc's lookup has no deadline, but
  /// the time it takes still counts.
  init(
    host: UnsafePointer<CChar>, port: UInt16, keepAlive: KeepAlive, lookup: NameLookup,
    by deadline: Deadline
  ) throws(Failure) {
    (list, next, known, sought) = (nil, nil, nil, host)
    (self.port, self.keepAlive, self.deadline, share) = (port, keepAlive, deadline, deadline)
    self.lookup = lookup
    if let failure = find(host) { throw failure }
  }

  /// Asks for the addresses of the name. Returns the failure if there are none or no time is left.
  @inline(never)
  private mutating func find(_ host: UnsafePointer<CChar>) -> Failure? {
    switch lookup.ask(for: host) {
    case .failed(let failure): return failure
    case .pending: return deadline.hasPassed ? NameLookup.outOfTime(host) : nil
    case .found(let found):
      (list, next, sought) = (found, found, nil)
      var each = next
      while let address = each {
        left &+= 1
        each = address.pointee.ai_next
      }
      return nil
    }
  }

  /// Connects to an address that answered before.
  init(_ address: PeerAddress, keepAlive: KeepAlive, by deadline: Deadline) {
    (list, next, known, left, port) = (nil, nil, address, 1, 0)
    (sought, lookup) = (nil, .libc)
    (self.keepAlive, self.deadline, share) = (keepAlive, deadline, deadline)
  }

  deinit {
    if descriptor >= 0 { _ = close(descriptor) }
    if let list { freeaddrinfo(list) }
  }

  /// The socket that is being connected, to wait on; -1 if there is none.
  var pending: CInt { descriptor }

  enum Step {
    /// The caller owns the socket now.
    case connected(CInt)
    case waits(until: Deadline)
    case failed(systemError: CInt)
    case unresolved(Failure)
  }

  mutating func advance() -> Step {
    if let host = sought {
      if let failure = find(host) { return .unresolved(failure) }
      if sought != nil {
        let again = Deadline(nanoseconds: Deadline.now &+ NameLookup.pause)
        return .waits(until: again.earlier(deadline))
      }
    }
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

  /// Starts connecting to the next address; false if there is none, or no time.
  private mutating func begin() -> Bool {
    while !deadline.hasPassed, let address = nextAddress() {
      let left = deadline.nanoseconds &- Deadline.now
      share = Deadline(nanoseconds: Deadline.now &+ left / (self.left &+ 1))
      let made = csystem_tcp_socket(address.family)
      guard made >= 0 else {
        lastError = csystem_errno()
        continue
      }
      // A single notification goes out at once; several are joined before they are written.
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
