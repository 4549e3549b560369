import CAPNS
import CSystem

/// Connects a TCP socket: tries the addresses of a name one after the other.
struct Dialing: ~Copyable {
  /// Until the addresses of the name are known.
  private var query: NameQuery?
  private var list: PeerAddresses?
  private var known: PeerAddress?
  private let port: UInt16
  private let keepAlive: KeepAlive
  private let deadline: Deadline
  /// When the current address has to have answered: a dead one must not use up the time of the
  /// addresses after it.
  private var share: Deadline
  private var descriptor: CInt = -1
  private var lastError = ETIMEDOUT

  /// Connects to the addresses of a name. Fails if it is known already that there are none.
  static func begin(
    _ query: consuming NameQuery, port: UInt16, keepAlive: KeepAlive, by deadline: Deadline
  ) throws(Failure) -> Dialing {
    var dialing = Dialing(query, port, keepAlive, deadline)
    _ = try dialing.lookUp()
    return dialing
  }

  private init(
    _ query: consuming NameQuery, _ port: UInt16, _ keepAlive: KeepAlive, _ deadline: Deadline
  ) {
    self.query = consume query
    list = nil
    (known, self.port, self.keepAlive) = (nil, port, keepAlive)
    (self.deadline, share) = (deadline, deadline)
  }

  /// Connects to an address that answered before.
  init(_ address: PeerAddress, keepAlive: KeepAlive, by deadline: Deadline) {
    query = nil
    list = nil
    (known, port, self.keepAlive) = (address, 0, keepAlive)
    (self.deadline, share) = (deadline, deadline)
  }

  deinit {
    if descriptor >= 0 { _ = close(descriptor) }
  }

  /// The socket that is being connected, or what the look-up waits for; -1 if there is neither.
  var pending: CInt {
    switch query {
    case .some(let query): query.descriptor
    case nil: descriptor
    }
  }

  enum Step {
    /// The caller owns the socket now.
    case connected(CInt)
    case waits(Readiness, until: Deadline)
    case failed(systemError: CInt)
    case unresolved(Failure)
  }

  mutating func advance() -> Step {
    do throws(Failure) {
      if let due = try lookUp() { return .waits(.reading, until: due) }
    } catch {
      return .unresolved(error)
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
        return .waits(.writing, until: share)
      } else {
        lastError = ETIMEDOUT
      }
      _ = close(descriptor)
      descriptor = -1
    }
  }

  /// Looks the name up as far as possible. Returns when to go on at the latest; nil: the addresses
  /// are known.
  private mutating func lookUp() throws(Failure) -> Deadline? {
    if query == nil { return nil }
    list = try query?.advance()
    if list == nil { return query?.due }
    query = nil
    return nil
  }

  /// Starts connecting to the next address; false if there is none, or no time.
  private mutating func begin() -> Bool {
    while !deadline.hasPassed, let address = nextAddress() {
      let left = deadline.nanoseconds &- Deadline.now
      share = Deadline(nanoseconds: Deadline.now &+ left / (untried &+ 1))
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
      known = nil
      return address
    }
    return list?.next(port: port)
  }

  /// How many addresses have not been tried.
  private var untried: Int64 {
    switch list {
    case .some(let list): Int64(list.left)
    case nil: 0
    }
  }
}
