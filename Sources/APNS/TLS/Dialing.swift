import CAPNS
import CSystem

/// Connects a TCP socket to one of the addresses of a name. The next address is tried after a moment
/// or when one has failed, and the first that answers is used (RFC 8305, 5).
struct Dialing: ~Copyable {
  /// Until the addresses of the name are known.
  private var query: NameQuery?
  private var list: PeerAddresses?
  private var known: PeerAddress?
  /// Tried first, if it is one of the addresses.
  private let preferred: PeerAddress?
  private let port: UInt16
  private let keepAlive: KeepAlive
  private let deadline: Deadline
  /// Sockets that are being connected, the oldest first.
  private var attempts = InlineArray<6, CInt>(repeating: -1)
  private var count = 0
  /// An epoll instance over them, once there were two; -1: none. Sockets that are closed are taken
  /// out, because a copy in another process would keep them there.
  private var epoll: CInt = -1
  private var nextTry = Deadline(nanoseconds: 0)
  private var lastError = ETIMEDOUT

  /// The Connection Attempt Delay of RFC 8305.
  private static let pause: Nanoseconds = 250_000_000

  /// Connects to the addresses of a name. Fails if the name is already known to have no address.
  static func begin(
    _ query: consuming NameQuery, port: UInt16, preferring preferred: PeerAddress?,
    keepAlive: KeepAlive, by deadline: Deadline
  ) throws(Failure) -> Dialing {
    var dialing = Dialing(query, port, preferred, keepAlive, deadline)
    _ = try dialing.lookUp()
    return dialing
  }

  private init(
    _ query: consuming NameQuery, _ port: UInt16, _ preferred: PeerAddress?,
    _ keepAlive: KeepAlive, _ deadline: Deadline
  ) {
    self.query = consume query
    list = nil
    (known, self.preferred, self.port) = (nil, preferred, port)
    (self.keepAlive, self.deadline) = (keepAlive, deadline)
  }

  /// Connects to an address that answered before.
  init(_ address: PeerAddress, keepAlive: KeepAlive, by deadline: Deadline) {
    query = nil
    list = nil
    (known, preferred, port) = (address, nil, 0)
    (self.keepAlive, self.deadline) = (keepAlive, deadline)
  }

  deinit {
    for index in 0..<count { _ = close(attempts[index]) }
    if epoll >= 0 { _ = close(epoll) }
  }

  /// The descriptor to wait for: the query's, a socket, or all sockets; -1 without one.
  var pending: CInt {
    switch query {
    case .some(let query): query.descriptor
    case nil: epoll >= 0 ? epoll : attempts[0]
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
      if let connected = takeConnected() { return .connected(connected) }
      if deadline.hasPassed { return .failed(systemError: count == 0 ? lastError : ETIMEDOUT) }
      if count == 0 || nextTry.hasPassed, begin() { continue }
      if count == 0 { return .failed(systemError: lastError) }
      return .waits(
        epoll >= 0 ? .reading : .writing, until: hasMore ? nextTry.earlier(deadline) : deadline)
    }
  }

  /// Resolves the name as far as possible. Returns the latest time to continue; nil once the
  /// addresses are known.
  private mutating func lookUp() throws(Failure) -> Deadline? {
    if query == nil { return nil }
    list = try query?.advance()
    if list == nil { return query?.due }
    query = nil
    if let preferred { list?.prefer(preferred) }
    return nil
  }

  /// Takes the oldest connected socket out of the attempts; nil without one. Failed sockets are
  /// closed, and the next address need not wait any longer.
  private mutating func takeConnected() -> CInt? {
    var index = 0
    while index < count {
      let descriptor = attempts[index]
      guard Readiness.look(for: .writing, on: descriptor) != nil else {
        index &+= 1
        continue
      }
      remove(index)
      let error = csystem_socket_error(descriptor)
      if error == 0 { return descriptor }
      lastError = error
      nextTry = Deadline(nanoseconds: 0)
      _ = close(descriptor)
    }
    return nil
  }

  private mutating func remove(_ index: Int) {
    if epoll >= 0 { csystem_epoll_remove(epoll, attempts[index]) }
    count &-= 1
    for next in index..<count { attempts[next] = attempts[next &+ 1] }
    attempts[count] = -1
  }

  private mutating func giveUpOldest() {
    let descriptor = attempts[0]
    remove(0)
    _ = close(descriptor)
  }

  /// Starts connecting to the next address; false after the last one.
  private mutating func begin() -> Bool {
    while let address = nextAddress() {
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
        add(made)
        nextTry = Deadline(nanoseconds: Deadline.now &+ Self.pause)
        return true
      case let code:
        lastError = code
        _ = close(made)
      }
    }
    return false
  }

  /// If not all can be watched, the oldest give way.
  private mutating func add(_ descriptor: CInt) {
    if count == attempts.count { giveUpOldest() }
    if count == 1, epoll < 0 {
      epoll = csystem_epoll()
      if !watch(attempts[0]) { giveUpOldest() }
    }
    if epoll >= 0, !watch(descriptor) {
      while count > 0 { giveUpOldest() }
      _ = close(epoll)
      epoll = -1
    }
    attempts[count] = descriptor
    count &+= 1
  }

  private func watch(_ descriptor: CInt) -> Bool {
    epoll >= 0 && csystem_epoll_add(epoll, descriptor, Readiness.writing.rawValue, 0) == 0
  }

  private mutating func nextAddress() -> PeerAddress? {
    if let address = known {
      known = nil
      return address
    }
    return list?.next(port: port)
  }

  /// There are addresses that have not been tried.
  private var hasMore: Bool {
    switch list {
    case .some(let list): list.left > 0
    case nil: known != nil
    }
  }
}
