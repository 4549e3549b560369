import Glibc

/// A connection with a deadline for all its operations.
struct TimedSocket: ~Copyable {
  struct Fault: Error {
    /// nil if the name has no address.
    var number: CInt?

    var text: String { number.map { String(cString: strerror($0)) } ?? "the name has no address" }
  }

  let descriptor: CInt
  private let end: Double

  private init(_ descriptor: CInt, end: Double) {
    self.descriptor = descriptor
    self.end = end
  }

  deinit { _ = Glibc.close(descriptor) }

  /// Connects to the first address that answers. All attempts together take at most `seconds`,
  /// divided among the addresses.
  static func connect(host: String, port: UInt16, seconds: Double) throws(Fault) -> TimedSocket {
    var hints = addrinfo()
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &list) == 0, let list else { throw Fault() }
    defer { freeaddrinfo(list) }
    let end = Clock.now + seconds
    var fault = Fault()
    let addresses = sequence(first: list) { $0.pointee.ai_next }.map(\.pointee)
    for (index, address) in addresses.enumerated() {
      let share = (end - Clock.now) / Double(addresses.count - index)
      switch descriptor(
        family: address.ai_family, address.ai_addr, address.ai_addrlen, end: Clock.now + share)
      {
      case .success(let descriptor): return TimedSocket(descriptor, end: end)
      case .failure(let failure): fault = failure
      }
    }
    throw fault
  }

  static func connect(path: String, seconds: Double) throws(Fault) -> TimedSocket {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count < room else { throw Fault(number: ENAMETOOLONG) }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let end = Clock.now + seconds
    let opened: Result<CInt, Fault> = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        descriptor(family: AF_UNIX, address, length, end: end)
      }
    }
    return TimedSocket(try opened.get(), end: end)
  }

  private static func descriptor(
    family: CInt, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t, end: Double
  ) -> Result<CInt, Fault> {
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(family, kind, 0)
    guard descriptor >= 0 else { return .failure(Fault(number: errno)) }
    var number: CInt = 0
    if Glibc.connect(descriptor, address, length) != 0 {
      number = errno
      if number == EINPROGRESS {
        number = ETIMEDOUT
        if wait(descriptor, for: POLLOUT, until: end) {
          var size = socklen_t(MemoryLayout<CInt>.size)
          getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size)
        }
      }
    }
    guard number == 0 else {
      Glibc.close(descriptor)
      return .failure(Fault(number: number))
    }
    return .success(descriptor)
  }

  /// False if the time is over.
  borrowing func wait(for events: Int32) -> Bool { Self.wait(descriptor, for: events, until: end) }

  private static func wait(_ descriptor: CInt, for events: Int32, until end: Double) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    while true {
      let left = end - Clock.now
      guard left > 0 else { return false }
      let count = poll(&entry, 1, CInt(min(left * 1000, 60_000)) + 1)
      if count > 0 { return true }
      if count < 0, errno != EINTR { return false }
    }
  }

  borrowing func send(_ bytes: some Collection<UInt8>) {
    var rest = Array(bytes)[...]
    while !rest.isEmpty, wait(for: POLLOUT) {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      if count < 0, errno != EAGAIN, errno != EINTR { return }
      rest = rest.dropFirst(max(0, count))
    }
  }

  /// The next bytes; empty if the peer closed or the time is over.
  borrowing func read(limit: Int = 4096) -> [UInt8] {
    var piece = [UInt8](repeating: 0, count: limit)
    while wait(for: POLLIN) {
      let count = recv(descriptor, &piece, limit, 0)
      if count < 0, errno == EAGAIN || errno == EINTR { continue }
      return Array(piece.prefix(max(0, count)))
    }
    return []
  }

  /// Reads until the peer closes, `limit` bytes are there, or the time is over.
  borrowing func readAll(limit: Int) -> [UInt8] {
    var all: [UInt8] = []
    while all.count < limit {
      let piece = read()
      if piece.isEmpty { break }
      all += piece
    }
    return all
  }

  /// Closing sends RST, so the peer learns that its data was not read.
  borrowing func endByReset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}
