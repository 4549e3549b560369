import Foundation

/// Asks the status server of a running relay.
package struct StatusQuery {
  /// Longer than the relay takes to prepare a response.
  private static let patience = timeval(tv_sec: 10, tv_usec: 0)
  private static let mostBytes = 65_536

  private let host: String
  private let port: String
  private var place: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  package init(host: String, port: Int) {
    self.host = host
    self.port = "\(port)"
  }

  /// The status of the response, and its body.
  package func get(_ path: String) throws -> (status: Int, body: String) {
    let descriptor = try connected()
    defer { close(descriptor) }
    // HTTP/1.0 needs no Host, and ends with the connection.
    let request = Array("GET \(path) HTTP/1.0\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, CInt(MSG_NOSIGNAL)) == request.count else {
      throw fault(errno)
    }
    var response: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while response.count < Self.mostBytes {
      let count = read(descriptor, &piece, piece.count)
      guard count >= 0 else { throw fault(errno) }
      if count == 0 { break }
      response += piece.prefix(count)
    }
    let text = String(decoding: response, as: UTF8.self)
    let words = text.prefix { $0 != "\r\n" }.split(separator: " ")
    guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]),
      let head = text.range(of: "\r\n\r\n")
    else { throw RelayFault("\(place): the response is not the relay's") }
    return (status, String(text[head.upperBound...]))
  }

  private func connected() throws -> CInt {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, port, &hints, &list) == 0, let found = list else {
      throw RelayFault("status.host: '\(host)' is not an IP address such as 127.0.0.1 or ::1")
    }
    defer { freeaddrinfo(list) }
    let descriptor = socket(found.pointee.ai_family, found.pointee.ai_socktype, 0)
    guard descriptor >= 0 else { throw fault(errno) }
    var patience = Self.patience
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(
        descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
    guard connect(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0 else {
      let error = errno
      close(descriptor)
      throw fault(error)
    }
    return descriptor
  }

  private func fault(_ error: CInt) -> RelayFault {
    let isLate = error == EAGAIN || error == EINPROGRESS
    let reason =
      isLate ? "no response for \(Self.patience.tv_sec) s" : String(cString: strerror(error))
    return RelayFault("\(place): \(reason)")
  }
}
