import CAPNS
import CSystem

/// Resolves a name: the addresses are given, or come from the caller's function or the name
/// service.
struct NameLookup: ~Copyable {
  private let given: PeerAddresses?
  private let function: apns_lookup_t?
  private let context: UnsafeMutableRawPointer?

  init(
    _ function: apns_lookup_t?, _ context: UnsafeMutableRawPointer?,
    addresses: UnsafePointer<CChar>?
  ) throws(Failure) {
    if let addresses { given = try GivenAddresses.read(addresses) } else { given = nil }
    (self.function, self.context) = (function, context)
  }

  /// Begins to resolve the name, a string that must outlive the query.
  @inline(never)
  func begin(
    for host: UnsafePointer<CChar>, by deadline: Deadline
  ) throws(Failure) -> NameQuery {
    var query = NameQuery(host, function, context, by: deadline)
    query.found = try given?.copy()
    return query
  }
}

#if APNS_CARES
  typealias NameService = CAresQuery
#else
  typealias NameService = LibcQuery
#endif

/// A name being resolved.
struct NameQuery: ~Copyable {
  private let host: UnsafePointer<CChar>
  private let function: apns_lookup_t?
  private let context: UnsafeMutableRawPointer?
  private let deadline: Deadline
  fileprivate(set) var found: PeerAddresses?
  /// Nil until it is queried.
  private var service: NameService?

  /// The pause before the caller's function is called again, in ns.
  private static let pause: Nanoseconds = 5_000_000

  fileprivate init(
    _ host: UnsafePointer<CChar>, _ function: apns_lookup_t?, _ context: UnsafeMutableRawPointer?,
    by deadline: Deadline
  ) {
    (self.host, self.function, self.context, self.deadline) = (host, function, context, deadline)
  }

  /// Readable when there is something to do; -1 while it only waits for a time.
  var descriptor: CInt {
    switch service {
    case .some(let service): service.descriptor
    case nil: -1
    }
  }

  /// When to continue if the descriptor does not become readable.
  var due: Deadline {
    switch service {
    case .some(let service): service.due.earlier(deadline)
    case nil: Deadline(nanoseconds: Deadline.now &+ Self.pause).earlier(deadline)
    }
  }

  /// Continues as far as possible without waiting, except if only libc is there. Nil without an
  /// answer so far.
  @inline(never)
  mutating func advance() throws(Failure) -> PeerAddresses? {
    if let found = found.take() { return found }
    var answer = function == nil ? try askService() : try askFunction()
    if answer != nil {
      answer?.alternates = true
      return answer
    }
    guard deadline.hasPassed else { return nil }
    if csystem_is_exhausted() != 0 { throw .outOfMemory }
    throw Failure(APNS_ERR_TIMEOUT, cause: APNS_CAUSE_LOOKUP_TIMEOUT) {
      $0.append("cannot resolve ")
      $0.append(host)
      $0.append(" in time")
    }
  }

  private func askFunction() throws(Failure) -> PeerAddresses? {
    guard let function else { return nil }
    var list: UnsafeMutablePointer<addrinfo>?
    let code = function(host, &list, context)
    if code == APNS_LOOKUP_PENDING { return nil }
    return try LibcQuery.take(list, code, for: host)
  }

  private mutating func askService() throws(Failure) -> PeerAddresses? {
    if service == nil {
      if let literal = try LibcQuery.literal(host) { return literal }
      service = try NameService(for: host, by: deadline)
    }
    return try service?.advance()
  }
}
