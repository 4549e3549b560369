import CAPNS
import CSystem

/// Looks names up: with libc, which waits, or with the caller's function, which does not.
struct NameLookup {
  private let function: apns_lookup_t?
  private let context: UnsafeMutableRawPointer?

  init(_ function: apns_lookup_t?, _ context: UnsafeMutableRawPointer?) {
    (self.function, self.context) = (function, context)
  }

  static var libc: NameLookup { NameLookup(nil, nil) }

  /// The pause before a pending lookup is asked again, in ns.
  static let pause: Int64 = 5_000_000

  enum Answer {
    /// The list belongs to whoever asked.
    case found(UnsafeMutablePointer<addrinfo>)
    case pending
    case failed(Failure)
  }

  func ask(for host: UnsafePointer<CChar>) -> Answer {
    var list: UnsafeMutablePointer<addrinfo>?
    let code: CInt
    if let function {
      code = function(host, &list, context)
      if code == APNS_LOOKUP_PENDING { return .pending }
    } else {
      var hints = addrinfo()
      hints.ai_family = AF_UNSPEC
      hints.ai_socktype = csystem_sock_stream()
      code = getaddrinfo(host, nil, &hints, &list)
    }
    if code == 0, let list { return .found(list) }
    // A function that finds nothing may report success.
    return .failed(Self.failure(host, code == 0 ? EAI_NONAME : code))
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

  /// The failure when no answer came in time.
  @inline(never)
  static func outOfTime(_ host: UnsafePointer<CChar>) -> Failure {
    Failure(APNS_ERR_TIMEOUT, cause: APNS_CAUSE_LOOKUP_TIMEOUT) {
      $0.append("cannot resolve ")
      $0.append(host)
      $0.append(" in time")
    }
  }
}
