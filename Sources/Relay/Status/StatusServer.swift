import BinaryServer
import Foundation
import HTTPServer
import NIOPosix
import Synchronization

/// Serves GET on a few paths, and POST on one, for a monitoring system on this machine and for
/// browsers, which also open connections that they do not use. One thread reads all requests, so that
/// silent clients block no others; each client has two seconds.
final class StatusServer: @unchecked Sendable {
  struct Response: Error {
    var status = 200
    var type = "text/plain; charset=utf-8"
    var body: String
    /// A further header line.
    var header: String?

    static func refusal(_ status: Int, _ text: String) -> Self {
      Self(status: status, body: "\(text)\n")
    }
  }

  struct Request: Sendable {
    var method = "GET"
    var path = ""
    /// nil for a request without Host, which HTTP/1.0 allows.
    var authority: Authority?
    /// Names in lower case.
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// The client's address.
    var client = ""

    func values(_ name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }
  }

  private struct Client {
    var descriptor: CInt
    var deadline: Int64
    var request: [UInt8] = []
    /// Where the body begins; nil until all headers are read.
    var bodyStart: Int?
    /// The size of the request with its body, which only POST has.
    var size = 0
  }

  private let listeners: [CInt]
  private let response: @Sendable (Request) -> Response?
  /// nil on an address beyond this machine, where any host name is accepted.
  private let names: ListenerNames?
  /// The queue may block the paths that query it, and all shared threads of the process, so these are
  /// separate.
  private let slow = NIOThreadPool(numberOfThreads: 8)
  private let quick = NIOThreadPool(numberOfThreads: 2)
  /// Responses that are being prepared or sent.
  private let underWay = Atomic(0)
  private static let mostUnderWay = 64
  /// The most requests that are read at the same time; the oldest is closed for a new one.
  private static let mostClients = 256
  private static let sendRoom: CInt = 1 << 20
  private static let longestRequest = 8192
  private static let longestBody = 65_536
  /// The path that takes POST.
  static let actions = "/actions"
  private static let patienceMS: Int64 = 2000

  /// Accepts the clients of listening sockets, on this host.
  init(
    host: String, listeners: [CInt], response: @escaping @Sendable (Request) -> Response?
  ) {
    self.response = response
    self.listeners = listeners
    names = Authority.isLoopback(host) ? ListenerNames(listeningOn: host) : nil
    for listener in listeners { _ = fcntl(listener, F_SETFL, O_NONBLOCK) }
  }

  /// Listens on a port; 0 for a free one.
  static func listen(host: String, port: Int) throws -> CInt {
    var list: UnsafeMutablePointer<addrinfo>?
    guard HostLookup.look(host, port, AI_NUMERICHOST | AI_PASSIVE, &list) == 0, let found = list
    else {
      throw RelayFault("status.host: '\(host)' is not an IP address such as 127.0.0.1 or ::1")
    }
    defer { freeaddrinfo(list) }
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    let listener = socket(found.pointee.ai_family, kind, 0)
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

  /// Serves until the process ends.
  func start() {
    for threads in [slow, quick] { threads.start() }
    Thread.begin("status") { [self] in
      var clients: [Client] = []
      while true { turn(&clients) }
    }
  }

  private func turn(_ clients: inout [Client]) {
    var watched = (listeners + clients.map(\.descriptor)).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    let pause = clients.first.map {
      max(0, min($0.deadline - RelayClock.monotonic, Self.patienceMS))
    }
    guard poll(&watched, nfds_t(watched.count), CInt(pause ?? -1)) >= 0 else {
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
    if client.bodyStart == nil, client.request.suffix(count + end.count).contains(end) {
      client.bodyStart = client.request.firstRange(of: end)?.upperBound
      client.size = Self.size(of: client)
    }
    let isWhole = client.bodyStart != nil
    if isWhole, client.request.count < client.size { return true }
    guard isWhole || client.request.count >= Self.longestRequest else { return true }
    respond(to: client, isWhole: isWhole)
    return false
  }

  /// The size of a request with its body. A body that is too long is not read.
  private static func size(of client: Client) -> Int {
    let start = client.bodyStart ?? client.request.count
    guard client.request.starts(with: "POST \(actions) ".utf8) else { return start }
    let lines = Self.lines(client.request.prefix(start)).dropFirst()
    let length = headers(lines).first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
    return (0...longestBody).contains(length) ? start + length : start
  }

  private static func lines(_ bytes: some Sequence<UInt8>) -> [Substring] {
    String(decoding: Array(bytes), as: UTF8.self)
      .split(separator: "\r\n", omittingEmptySubsequences: false)
  }

  private func respond(to client: Client, isWhole: Bool) {
    let head = client.bodyStart ?? client.request.count
    let lines = Self.lines(client.request.prefix(head))
    let words = (lines.first ?? "").split(separator: " ")
    guard underWay.add(1, ordering: .relaxed).newValue <= Self.mostUnderWay else {
      return end(client, words, .refusal(503, "busy"))
    }
    var request = Request()
    do throws(Response) {
      let target = try target(words, lines.dropFirst(), isWhole: isWhole)
      request.method = String(words[0])
      request.path = String(target.path.prefix { $0 != "?" })
      request.authority = target.authority
      request.headers = Self.headers(lines.dropFirst())
      request.body = Array(client.request.dropFirst(head))
      request.client = SocketName.of(client.descriptor, getpeername)?.host ?? ""
      try checkBody(request)
    } catch {
      return end(client, words, error)
    }
    let paths = ["/metrics", "/status.metrics", "/readyz", Console.state, Self.actions]
    let work = paths.contains(request.path) ? slow : quick
    work.submit { [self, request] _ in
      let missing = Response.refusal(404, "the paths are /, /metrics, /healthz and /readyz")
      let found = response(request) ?? missing
      // Preparing the response may have taken long.
      end(client, words, found, until: RelayClock.monotonic + Self.patienceMS)
    }
  }

  /// The target of a request.
  private func target(
    _ words: [Substring], _ headers: ArraySlice<Substring>, isWhole: Bool
  ) throws(Response) -> RequestTarget {
    guard isWhole else {
      throw .refusal(431, "more than \(Self.longestRequest) bytes of headers")
    }
    guard words.count == 3, ["HTTP/1.0", "HTTP/1.1"].contains(words[2]) else {
      throw .refusal(400, "not an HTTP/1.1 request")
    }
    let target: RequestTarget
    do throws(RequestTarget.Fault) {
      target = try RequestTarget(
        String(words[1]), hosts: Self.headers(headers).filter { $0.name == "host" }.map(\.value),
        needsHost: words[2] != "HTTP/1.0")
    } catch {
      throw .refusal(error.status, "\(error)")
    }
    let isAction = target.path == Self.actions
    guard isAction ? words[0] == "POST" : words[0] == "GET" || words[0] == "HEAD" else {
      throw .refusal(405, isAction ? "POST only" : "GET only")
    }
    if let names, let host = target.authority, !names.contains(host) {
      throw .refusal(421, "the Host is foreign: use 127.0.0.1 or localhost")
    }
    if names != nil, target.authority == nil, words[2] != "HTTP/1.0" {
      throw .refusal(400, "Host is empty")
    }
    return target
  }

  private func checkBody(_ request: Request) throws(Response) {
    guard request.method == "POST" else { return }
    let lengths = request.values("content-length")
    guard lengths.count == 1, let length = Int(lengths[0]), length >= 0,
      request.values("transfer-encoding").isEmpty
    else { throw .refusal(411, "Content-Length is needed") }
    guard length <= Self.longestBody else {
      throw .refusal(413, "more than \(Self.longestBody) bytes")
    }
    guard request.body.count == length else {
      throw .refusal(400, "more bytes than Content-Length has")
    }
  }

  private static func headers(_ lines: ArraySlice<Substring>) -> [(name: String, value: String)] {
    lines.compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      return (
        line[..<colon].lowercased(),
        line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      )
    }
  }

  private func end(
    _ client: Client, _ words: [Substring], _ response: Response, until deadline: Int64? = nil
  ) {
    let names = [
      200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
      405: "Method Not Allowed", 409: "Conflict", 411: "Length Required", 413: "Content Too Large",
      415: "Unsupported Media Type", 421: "Misdirected Request",
      431: "Request Header Fields Too Large",
    ]
    let body = Array(response.body.utf8)
    let head =
      "HTTP/1.1 \(response.status) \(names[response.status] ?? "Service Unavailable")\r\n"
      + "Content-Type: \(response.type)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n"
      + "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      + "Content-Security-Policy: default-src 'self'; img-src data:; frame-ancestors 'none'; "
      + "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n"
      + "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
      + (response.header.map { "\($0)\r\n" } ?? "") + "\r\n"
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
      if sent < bytes.count, !waitUntilWritable(client, deadline) { return }
    }
  }

  private func waitUntilWritable(_ client: CInt, _ deadline: Int64) -> Bool {
    var watched = pollfd(fd: client, events: Int16(POLLOUT), revents: 0)
    return poll(&watched, 1, CInt(max(0, deadline - RelayClock.monotonic))) == 1
  }
}
