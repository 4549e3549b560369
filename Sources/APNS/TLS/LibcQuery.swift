import CAPNS
import CSystem

/// Resolves a name with libc, which waits as long as it likes.
struct LibcQuery {
  private let host: UnsafePointer<CChar>

  init(for host: UnsafePointer<CChar>, by deadline: Deadline) throws(Failure) { self.host = host }

  var descriptor: CInt { -1 }
  var due: Deadline { Deadline(nanoseconds: Deadline.now) }

  func advance() throws(Failure) -> PeerAddresses? { try Self.ask(host, flags: 0) }

  /// The address itself if the name is one, without a query; nil if it is not.
  @inline(never)
  static func literal(_ host: UnsafePointer<CChar>) throws(Failure) -> PeerAddresses? {
    try ask(host, flags: CInt(AI_NUMERICHOST))
  }

  private static func ask(
    _ host: UnsafePointer<CChar>, flags: CInt
  ) throws(Failure) -> PeerAddresses? {
    var list: UnsafeMutablePointer<addrinfo>?
    var hints = addrinfo()
    hints.ai_flags = flags
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = csystem_sock_stream()
    let code = getaddrinfo(host, nil, &hints, &list)
    if flags != 0, csystem_is_unknown_name(code) != 0 { return nil }
    return try take(list, code, for: host)
  }

  /// Takes over what getaddrinfo(), or a function like it, found.
  @inline(never)
  static func take(
    _ list: UnsafeMutablePointer<addrinfo>?, _ code: CInt, for host: UnsafePointer<CChar>
  ) throws(Failure) -> PeerAddresses {
    // A function that finds nothing may report success.
    guard code == 0, let list else { throw failure(host, code == 0 ? EAI_NONAME : code) }
    defer { freeaddrinfo(list) }
    var count = 0
    var next: UnsafeMutablePointer<addrinfo>? = list
    while let entry = next {
      count &+= 1
      next = entry.pointee.ai_next
    }
    var addresses = try PeerAddresses(room: count)
    next = list
    while let entry = next {
      addresses.append(entry.pointee.ai_addr, size: entry.pointee.ai_addrlen)
      next = entry.pointee.ai_next
    }
    return addresses
  }

  @inline(never)
  private static func failure(_ host: UnsafePointer<CChar>, _ code: CInt) -> Failure {
    let system = code == EAI_SYSTEM ? csystem_errno() : 0
    let isExhausted = code == EAI_MEMORY || system == ENOMEM
    return Failure(
      isExhausted ? APNS_ERR_MEMORY : APNS_ERR_NETWORK,
      cause: isExhausted
        ? APNS_CAUSE_MEMORY
        : csystem_is_unknown_name(code) != 0 ? APNS_CAUSE_NAME_NOT_FOUND : APNS_CAUSE_LOOKUP_FAILED
    ) {
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
}
