import CAPNS
import COpenSSL
import CSystem

/// Opens a tunnel to the gateway, on a socket connected to the proxy.
struct ProxyTunnel: ~Copyable {
  private let request: UnsafeMutableRawBufferPointer
  private var sent = 0
  private let answer: UnsafeMutableRawBufferPointer
  private var count = 0
  /// The bytes of 1xx answers before it.
  private var passedOver = 0

  /// The longest answer that is read: status line and header fields.
  private static let maxResponse = 8192

  /// Takes over the request.
  init(request: UnsafeMutableRawBufferPointer) throws(Failure) {
    guard let memory = malloc(Self.maxResponse) else {
      OPENSSL_cleanse(request.baseAddress, request.count)
      free(request.baseAddress)
      throw .outOfMemory
    }
    self.request = request
    answer = UnsafeMutableRawBufferPointer(start: memory, count: Self.maxResponse)
  }

  deinit {
    OPENSSL_cleanse(request.baseAddress, request.count)
    free(request.baseAddress)
    free(answer.baseAddress)
  }

  /// Sends the request and reads the answer. Nil if the tunnel is open, else what to wait for.
  mutating func advance(
    on descriptor: CInt, to endpoint: borrowing Endpoint
  ) throws(Failure) -> Readiness? {
    while sent < request.count, let base = request.baseAddress {
      let written = csystem_send(descriptor, base + sent, request.count &- sent)
      if written >= 0 {
        sent &+= Int(written)
      } else if csystem_errno() == EAGAIN {
        return .writing
      } else if csystem_errno() != EINTR {
        throw Self.failure(endpoint, " ended the connection", systemError: csystem_errno())
      }
    }
    while true {
      // Reads one byte at a time: what follows the answer comes from the gateway.
      guard passedOver &+ count < answer.count, let base = answer.baseAddress else {
        throw Self.failure(endpoint, " gave an answer longer than 8192 bytes")
      }
      let received = csystem_receive(descriptor, base + count, 1)
      if received > 0 {
        count &+= 1
        if isWhole {
          if try report(endpoint) { return nil }
          passedOver &+= count
          count = 0
        }
      } else if received == 0 {
        throw Self.failure(endpoint, " closed the connection without an answer")
      } else if csystem_errno() == EAGAIN {
        return .reading
      } else if csystem_errno() != EINTR {
        throw Self.failure(endpoint, " ended the connection", systemError: csystem_errno())
      }
    }
  }

  @inline(never)
  private static func failure(
    _ endpoint: borrowing Endpoint, _ text: StaticString, systemError: CInt = 0
  ) -> Failure {
    Failure(APNS_ERR_NETWORK, systemError: systemError, cause: APNS_CAUSE_PROXY_LOST) {
      endpoint.appendProxy(to: &$0)
      $0.append(text)
    }
  }

  /// The header ends with an empty line.
  private var isWhole: Bool {
    count >= 4 && answer[count &- 1] == 0x0A
      && (answer[count &- 2] == 0x0A
        || answer[count &- 2] == 0x0D && answer[count &- 3] == 0x0A)
  }

  /// The cause when a proxy answers in HTTP and refuses.
  private var cause: apns_cause_t {
    if answer[9] == 0x35 { return APNS_CAUSE_PROXY_NO_ROUTE }
    return answer[9] == 0x34 && answer[10] == 0x30 && answer[11] == 0x37
      ? APNS_CAUSE_PROXY_AUTHENTICATION : APNS_CAUSE_PROXY_REFUSED
  }

  /// "HTTP/1.1 200 Connection established": any 2xx opens the tunnel. False: it is a 1xx, and the
  /// answer follows it (RFC 9110, 15.2).
  private func report(_ endpoint: borrowing Endpoint) throws(Failure) -> Bool {
    var end = 0
    while end < count, answer[end] != 0x0D, answer[end] != 0x0A { end &+= 1 }
    let isHTTP = isStatusLine(end)
    if isHTTP, answer[9] == 0x31 { return false }
    if isHTTP, answer[9] == 0x32 { return true }
    // Declared as StaticString: converting a String pulls in 8 KB of the standard library.
    let problem: StaticString = isHTTP ? " refused: " : " does not speak HTTP: "
    throw Failure(APNS_ERR_NETWORK, cause: isHTTP ? cause : APNS_CAUSE_PROXY_NOT_HTTP) {
      endpoint.appendProxy(to: &$0)
      $0.append(problem)
      $0.append(text: UnsafeRawBufferPointer(rebasing: answer[min(isHTTP ? 9 : 0, end)..<end]))
    }
  }

  /// "HTTP/1.x", a space, three digits, and nothing or a space after them (RFC 9112, 4).
  private func isStatusLine(_ end: Int) -> Bool {
    guard end >= 12, UnsafeRawBufferPointer(answer).starts(with: "HTTP/1.") else { return false }
    guard answer[7] == 0x30 || answer[7] == 0x31, answer[8] == 0x20 else { return false }
    for index in 9..<12 where answer[index] &- 0x30 > 9 { return false }
    return answer[9] >= 0x31 && answer[9] <= 0x35 && (end == 12 || answer[12] == 0x20)
  }
}
