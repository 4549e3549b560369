import CAPNS
import CAres
import CSystem

/// Resolves a name with c-ares without waiting: one descriptor covers its sockets. It reads the
/// system's files, such as /etc/hosts and /etc/resolv.conf, itself.
struct CAresQuery: ~Copyable {
  private let host: UnsafePointer<CChar>
  /// Allocated, because c-ares keeps its address until `ares_destroy` has returned.
  private let state: UnsafeMutablePointer<CAresState>
  private let channel: ares_channel
  /// The latest time to use the addresses found so far: a name server that answers for IPv4 and is
  /// silent for IPv6 must not use up all the time. That is 50 ms after its first answer (RFC 8305,
  /// 3), or after half of the time if that answer had no address.
  private var settles: Deadline
  private let half: Deadline
  private var isHeard = false

  @inline(never)
  init(for host: UnsafePointer<CChar>, by deadline: Deadline) throws(Failure) {
    // Name servers would get a query for that too.
    for index in 0..<strlen(host) where 0...0x20 ~= host[index] || host[index] == 0x7F {
      throw Self.failure(host, cares_bad_name())
    }
    guard
      let state = malloc(MemoryLayout<CAresState>.size)?.bindMemory(
        to: CAresState.self, capacity: 1)
    else { throw .outOfMemory }
    let epoll = cares_epoll()
    guard epoll >= 0 else {
      let code = csystem_errno()
      free(state)
      throw Self.failure(host, systemError: code)
    }
    state.initialize(to: CAresState(epoll: epoll))
    var made: ares_channel?
    let status = cares_make(&made, { CAresState.watch($0, $1, $2, $3) }, state)
    guard cares_is_success(status) != 0, let channel = made else {
      _ = close(epoll)
      free(state)
      throw Self.failure(host, status, "c-ares does not start: ")
    }
    self.host = host
    self.state = state
    self.channel = channel
    let now = Deadline.now
    half = Deadline(nanoseconds: now &+ max(deadline.nanoseconds &- now, 0) / 2)
    settles = half
    ask()
  }

  deinit {
    // In a child the descriptor is the parent's too: its epoll entries must stay.
    _ = close(state.pointee.epoll)
    state.pointee.epoll = -1
    ares_destroy(channel)
    if let list = state.pointee.list { ares_freeaddrinfo(list) }
    free(state)
  }

  /// Readable when a name server answered.
  var descriptor: CInt { state.pointee.epoll }

  /// When c-ares retries or fails.
  var due: Deadline {
    let wait = cares_due_ns(channel)
    return Deadline(nanoseconds: wait < 0 ? .max : Deadline.now &+ wait).earlier(settles)
  }

  private func ask() {
    state.pointee.isAnswered = false
    cares_resolve(channel, host, { CAresState.answer($0, $1, $3) }, state)
  }

  /// Nil without an answer so far.
  @inline(never)
  mutating func advance() throws(Failure) -> PeerAddresses? {
    if !state.pointee.isAnswered {
      // c-ares may query a name server over TCP, and the server may close.
      let undo = csystem_block_sigpipe()
      if cares_process(channel, state.pointee.epoll) != 0, !isHeard {
        isHeard = true
        settles = settles.earlier(Deadline(nanoseconds: Deadline.now &+ 50_000_000))
      }
      csystem_restore_sigpipe(undo, 1)
    }
    if !state.pointee.isAnswered, settles.hasPassed {
      settles = half.hasPassed ? Deadline(nanoseconds: .max) : half
      // c-ares then returns the addresses that it has.
      ares_cancel(channel)
      if cares_is_cancelled(state.pointee.status) != 0 { ask() }
    }
    if state.pointee.systemError != 0 {
      throw Self.failure(host, systemError: state.pointee.systemError)
    }
    guard state.pointee.isAnswered else { return nil }
    guard cares_is_success(state.pointee.status) != 0, let list = state.pointee.list else {
      // If c-ares had no memory for an answer, it ignores it and waits for another.
      if csystem_is_exhausted() != 0 { throw .outOfMemory }
      throw Self.failure(host, state.pointee.status)
    }
    var count = 0
    var next = list.pointee.nodes
    while let node = next {
      count &+= 1
      next = node.pointee.ai_next
    }
    guard count > 0 else { throw Self.failure(host, cares_no_data()) }
    var addresses = try PeerAddresses(room: count)
    next = list.pointee.nodes
    while let node = next {
      addresses.append(node.pointee.ai_addr, size: node.pointee.ai_addrlen)
      next = node.pointee.ai_next
    }
    return addresses
  }

  private static func failure(
    _ host: UnsafePointer<CChar>, _ status: CInt, _ text: StaticString = ""
  ) -> Failure {
    let isExhausted = cares_is_out_of_memory(status) != 0
    let isTimeout = cares_is_timeout(status) != 0
    return Failure(
      isExhausted ? APNS_ERR_MEMORY : isTimeout ? APNS_ERR_TIMEOUT : APNS_ERR_NETWORK,
      cause: isExhausted
        ? APNS_CAUSE_MEMORY
        : isTimeout
          ? APNS_CAUSE_LOOKUP_TIMEOUT
          : cares_is_unknown_name(status) != 0
            ? APNS_CAUSE_NAME_NOT_FOUND : APNS_CAUSE_LOOKUP_FAILED
    ) {
      $0.append("cannot resolve ")
      $0.append(host)
      $0.append(": ")
      $0.append(text)
      $0.append(ares_strerror(status))
    }
  }

  /// The failure when a query's own descriptor cannot be opened.
  private static func failure(_ host: UnsafePointer<CChar>, systemError: CInt) -> Failure {
    Failure(
      systemError == ENOMEM ? APNS_ERR_MEMORY : APNS_ERR_NETWORK, systemError: systemError,
      cause: systemError == EMFILE || systemError == ENFILE
        ? APNS_CAUSE_DESCRIPTORS
        : systemError == ENOMEM ? APNS_CAUSE_MEMORY : APNS_CAUSE_LOOKUP_FAILED
    ) {
      $0.append("cannot resolve ")
      $0.append(host)
    }
  }
}

/// The results of a c-ares query.
private struct CAresState {
  /// -1 while it is being ended.
  var epoll: CInt
  var isAnswered = false
  var status: CInt = 0
  var list: UnsafeMutablePointer<ares_addrinfo>?
  /// Why waiting for a socket failed.
  var systemError: CInt = 0

  init(epoll: CInt) { self.epoll = epoll }

  static func watch(
    _ context: UnsafeMutableRawPointer?, _ socket: CInt, _ reading: CInt, _ writing: CInt
  ) {
    guard let state = context?.assumingMemoryBound(to: CAresState.self) else { return }
    guard state.pointee.epoll >= 0 else { return }
    let code = cares_watch(state.pointee.epoll, socket, reading, writing)
    if code != 0 { state.pointee.systemError = code }
  }

  static func answer(
    _ context: UnsafeMutableRawPointer?, _ status: CInt,
    _ list: UnsafeMutablePointer<ares_addrinfo>?
  ) {
    guard let state = context?.assumingMemoryBound(to: CAresState.self) else {
      if let list { ares_freeaddrinfo(list) }
      return
    }
    state.pointee.isAnswered = true
    state.pointee.status = status
    state.pointee.list = list
  }
}
