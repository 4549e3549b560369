import BinaryServer
import Foundation
import HTTPServer
import Synchronization

/// Serves GET on a few paths, for a monitoring system on this machine and for browsers, which also
/// open connections that they do not use. One thread reads all requests, so that silent clients
/// block no others; each client has two seconds.
final class StatusServer: @unchecked Sendable {
  struct Response {
    var status = 200
    var type = "text/plain; charset=utf-8"
    var body: String
  }

  private struct Client {
    var descriptor: CInt
    var deadline: Int64
    var request: [UInt8] = []
  }

  private let listeners: [CInt]
  private let response: @Sendable (_ path: String) -> Response?
  /// nil on an address beyond this machine, where any host name is accepted.
  private let names: ListenerNames?
  /// Paths that query the queue may block, so they have separate threads.
  private let slow = StatusWorkers(8)
  private let quick = StatusWorkers(2)
  /// Responses that are being prepared or sent.
  private let underWay = Atomic(0)
  private static let mostUnderWay = 64
  /// The most requests that are read at the same time; the oldest is closed for a new one.
  private static let mostClients = 256
  private static let sendRoom: CInt = 1 << 20
  private static let longestRequest = 8192
  private static let patienceMS: Int64 = 2000

  /// Accepts the clients of listening sockets, on this host.
  init(
    host: String, listeners: [CInt], response: @escaping @Sendable (String) -> Response?
  ) {
    self.response = response
    self.listeners = listeners
    names = Authority.isLoopback(host) ? ListenerNames(listeningOn: host) : nil
    for listener in listeners { _ = fcntl(listener, F_SETFL, O_NONBLOCK) }
  }

  /// Listens on a port; 0 for a free one.
  static func listen(host: String, port: Int) throws -> CInt {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &list) == 0, let found = list else {
      throw RelayFault("status.host: '\(host)' is not an IP address such as 127.0.0.1 or ::1")
    }
    defer { freeaddrinfo(list) }
    let listener = socket(found.pointee.ai_family, Self.kind(SOCK_STREAM, SOCK_CLOEXEC), 0)
    var yes: CInt = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    guard listener >= 0, bind(listener, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0,
      Glibc.listen(listener, 1024) == 0
    else {
      let failure = ListenFailure(errno: errno, host, port, setting: "status.port")
      if listener >= 0 { close(listener) }
      throw RelayFault("status: \(failure)")
    }
    return listener
  }

  private static func kind(_ parts: __socket_type...) -> CInt {
    parts.reduce(0) { $0 | CInt($1.rawValue) }
  }

  /// Serves until the process ends.
  func start() {
    let thread = Thread { [self] in
      var clients: [Client] = []
      while true { turn(&clients) }
    }
    thread.name = "status"
    thread.stackSize = 1 << 19
    thread.start()
  }

  private func turn(_ clients: inout [Client]) {
    var watched = (listeners + clients.map(\.descriptor)).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    let pause = clients.first.map { max(0, $0.deadline - RelayClock.monotonic) } ?? Self.patienceMS
    guard poll(&watched, nfds_t(watched.count), CInt(min(pause, Self.patienceMS))) >= 0 else {
      // Interrupted by a signal, or out of memory for the moment.
      usleep(10_000)
      return
    }
    let now = RelayClock.monotonic
    var kept: [Client] = []
    for (client, seen) in zip(clients, watched.dropFirst(listeners.count)) {
      var client = client
      if seen.revents != 0, !read(&client) { continue }
      if client.deadline <= now {
        close(client.descriptor)
      } else {
        kept.append(client)
      }
    }
    for (listener, seen) in zip(listeners, watched) where seen.revents != 0 {
      accept(from: listener, into: &kept, now)
    }
    clients = kept
  }

  private func accept(from listener: CInt, into clients: inout [Client], _ now: Int64) {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0 else {
        // Out of descriptors, for example, for the moment.
        if errno != EAGAIN, errno != EINTR { usleep(10_000) }
        return
      }
      _ = fcntl(client, F_SETFL, O_NONBLOCK)
      // A whole response fits into the buffer, so that a client that does not read blocks no
      // thread.
      var room = Self.sendRoom
      setsockopt(client, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<CInt>.size))
      if clients.count >= Self.mostClients { close(clients.removeFirst().descriptor) }
      clients.append(Client(descriptor: client, deadline: now + Self.patienceMS))
    }
  }

  /// False once this thread no longer has the client.
  private func read(_ client: inout Client) -> Bool {
    var piece = [UInt8](repeating: 0, count: 2048)
    let count = Glibc.read(client.descriptor, &piece, piece.count)
    guard count > 0 else {
      if count < 0, errno == EAGAIN || errno == EINTR { return true }
      close(client.descriptor)
      return false
    }
    let end = Array("\r\n\r\n".utf8)
    client.request += piece.prefix(count)
    let isWhole = client.request.suffix(count + end.count).contains(end)
    guard isWhole || client.request.count >= Self.longestRequest else { return true }
    respond(to: client, isWhole: isWhole)
    return false
  }

  private func respond(to client: Client, isWhole: Bool) {
    let text = String(decoding: client.request, as: UTF8.self)
    let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
    let words = (lines.first ?? "").split(separator: " ")
    guard underWay.add(1, ordering: .relaxed).newValue <= Self.mostUnderWay else {
      return end(client, words, Response(status: 503, body: "busy\n"))
    }
    let target: String
    do throws(Refusal) {
      target = try path(words, lines.dropFirst(), isWhole: isWhole)
    } catch {
      return end(client, words, error.response)
    }
    let path = String(target.prefix { $0 != "?" })
    let work = ["/metrics", "/status.metrics", "/readyz"].contains(path) ? slow : quick
    work.add { [self] in
      let missing = Response(status: 404, body: "the paths are /, /metrics, /healthz and /readyz\n")
      let found = response(path) ?? missing
      // Preparing the response may have taken long.
      end(client, words, found, until: RelayClock.monotonic + Self.patienceMS)
    }
  }

  private struct Refusal: Error {
    var response: Response

    init(_ status: Int, _ text: String) { response = Response(status: status, body: "\(text)\n") }
  }

  /// The path of a request.
  private func path(
    _ words: [Substring], _ headers: ArraySlice<Substring>, isWhole: Bool
  ) throws(Refusal) -> String {
    guard isWhole else {
      throw Refusal(431, "more than \(Self.longestRequest) bytes of headers")
    }
    guard words.count == 3, ["HTTP/1.0", "HTTP/1.1"].contains(words[2]) else {
      throw Refusal(400, "not an HTTP/1.1 request")
    }
    let target: RequestTarget
    do throws(RequestTarget.Fault) {
      target = try RequestTarget(
        String(words[1]), hosts: Self.hosts(headers), needsHost: words[2] != "HTTP/1.0")
    } catch {
      throw Refusal(error.status, "\(error)")
    }
    guard words[0] == "GET" || words[0] == "HEAD" else { throw Refusal(405, "GET only") }
    if let names, let host = target.authority, !names.contains(host) {
      throw Refusal(421, "the Host is foreign: use 127.0.0.1 or localhost")
    }
    if names != nil, target.authority == nil, words[2] != "HTTP/1.0" {
      throw Refusal(400, "Host is empty")
    }
    return target.path
  }

  private static func hosts(_ headers: ArraySlice<Substring>) -> [String] {
    headers.filter { $0.lowercased().hasPrefix("host:") }
      .map { $0.dropFirst(5).trimmingCharacters(in: .whitespaces) }
  }

  private func end(
    _ client: Client, _ words: [Substring], _ response: Response, until deadline: Int64? = nil
  ) {
    let names = [
      200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found",
      405: "Method Not Allowed", 421: "Misdirected Request", 431: "Request Header Fields Too Large",
    ]
    let body = Array(response.body.utf8)
    let head =
      "HTTP/1.1 \(response.status) \(names[response.status] ?? "Service Unavailable")\r\n"
      + "Content-Type: \(response.type)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n"
      + "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      + "Content-Security-Policy: default-src 'self'; img-src data:; frame-ancestors 'none'\r\n\r\n"
    // The thread that reads the requests must not block.
    send(
      Array(head.utf8) + (words.first == "HEAD" ? [] : body), to: client.descriptor,
      deadline ?? RelayClock.monotonic)
    close(client.descriptor)
    underWay.subtract(1, ordering: .relaxed)
  }

  private func send(_ bytes: [UInt8], to client: CInt, _ deadline: Int64) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
      if count < 0, errno != EAGAIN, errno != EINTR { return }
      sent += max(0, count)
      if sent < bytes.count, !wait(client, POLLOUT, deadline) { return }
    }
  }

  private func wait(_ client: CInt, _ what: Int32, _ deadline: Int64) -> Bool {
    var watched = pollfd(fd: client, events: Int16(what), revents: 0)
    return poll(&watched, 1, CInt(max(0, deadline - RelayClock.monotonic))) == 1
  }
}
