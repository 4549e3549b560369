import Foundation

/// Answers GET on a few paths, a few connections at a time: for a monitoring system on this machine,
/// and for people, whose browsers also open connections that they do not use.
/// A client has two seconds, whatever it sends.
final class StatusServer: @unchecked Sendable {
  struct Answer {
    var status = 200
    var type = "text/plain; charset=utf-8"
    var body: String
  }

  let port: Int
  private let listener: CInt
  private let answer: @Sendable (_ path: String) -> Answer?
  private static let connections = 8
  private static let longestRequest = 8192
  private static let patienceMS: Int64 = 2000

  init(host: String, port: Int, answer: @escaping @Sendable (String) -> Answer?) throws {
    self.answer = answer
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &list) == 0, let found = list else {
      throw QueueFault(
        description: "status.host: '\(host)' is no address, such as 127.0.0.1 or ::1")
    }
    defer { freeaddrinfo(list) }
    let listener = socket(
      found.pointee.ai_family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var yes: CInt = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    guard listener >= 0, bind(listener, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0,
      listen(listener, 64) == 0
    else {
      let reason = String(cString: strerror(errno))
      if listener >= 0 { close(listener) }
      throw QueueFault(description: "status: \(host) port \(port): \(reason)")
    }
    self.listener = listener
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = getsockname(listener, $0, &size)
      }
    }
    // The port is at the same place in both families.
    self.port = withUnsafeBytes(of: &address) { Int($0[2]) << 8 | Int($0[3]) }
  }

  /// Serves until the process ends.
  func start() {
    for _ in 0..<Self.connections {
      let thread = Thread { [self] in
        while true {
          let client = accept(listener, nil, nil)
          if client >= 0 {
            serve(client)
            close(client)
          } else if errno != EINTR {
            // No descriptor is left, or the like: it passes.
            usleep(100_000)
          }
        }
      }
      thread.name = "status"
      thread.stackSize = 1 << 19
      thread.start()
    }
  }

  private func serve(_ client: CInt) {
    let deadline = RelayClock.steady + Self.patienceMS
    var request: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 2048)
    let end = Array("\r\n\r\n".utf8)
    while request.count < Self.longestRequest, !request.suffix(piece.count + 3).contains(end) {
      guard wait(client, POLLIN, deadline) else { return }
      let count = read(client, &piece, piece.count)
      guard count > 0 else { return }
      request += piece.prefix(count)
    }
    let line = String(decoding: request.prefix { $0 != 0x0D }, as: UTF8.self)
    let words = line.split(separator: " ")
    var said: Answer
    if words.count != 3 || !words[2].hasPrefix("HTTP/1.") {
      said = Answer(status: 400, body: "this is no request of HTTP/1.1\n")
    } else if words[0] != "GET", words[0] != "HEAD" {
      said = Answer(status: 405, body: "GET only\n")
    } else {
      let path = words[1].prefix { $0 != "?" }
      said =
        answer(String(path))
        ?? Answer(status: 404, body: "there are /, /metrics, /healthz and /readyz\n")
    }
    let names = [200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"]
    let body = Array(said.body.utf8)
    let head =
      "HTTP/1.1 \(said.status) \(names[said.status] ?? "Service Unavailable")\r\n"
      + "Content-Type: \(said.type)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n"
      + "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      + "Content-Security-Policy: default-src 'self'; img-src data:; frame-ancestors 'none'\r\n\r\n"
    send(Array(head.utf8) + (words.first == "HEAD" ? [] : body), to: client, deadline)
  }

  private func send(_ bytes: [UInt8], to client: CInt, _ deadline: Int64) {
    var sent = 0
    while sent < bytes.count, wait(client, POLLOUT, deadline) {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      if count < 0, errno != EAGAIN, errno != EINTR { return }
      sent += max(0, count)
    }
  }

  private func wait(_ client: CInt, _ what: Int32, _ deadline: Int64) -> Bool {
    var watched = pollfd(fd: client, events: Int16(what), revents: 0)
    return poll(&watched, 1, CInt(max(0, deadline - RelayClock.steady))) == 1
  }
}
