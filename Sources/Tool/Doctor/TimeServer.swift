import Glibc

/// The time from an SNTP server (RFC 4330).
enum TimeServer {
  /// The seconds from 1900 to 1970.
  private static let epoch: Int64 = 2_208_988_800

  /// UNIX seconds; nil without a valid response.
  static func request(_ server: String, within milliseconds: Int) -> Int64? {
    var (host, port) = (server, "123")
    if let colon = server.lastIndex(of: ":"), server.firstIndex(of: ":") == colon {
      (host, port) = (String(server[..<colon]), String(server[server.index(after: colon)...]))
    }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, port, &hints, &list) == 0, let first = list?.pointee else { return nil }
    defer { freeaddrinfo(list) }
    let descriptor = socket(first.ai_family, first.ai_socktype, 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    // A client request of version 4. A response repeats the last bytes.
    var request = [UInt8](repeating: 0, count: 48)
    request[0] = 0x23
    for index in 40..<48 { request[index] = .random(in: 0...255) }
    guard connect(descriptor, first.ai_addr, first.ai_addrlen) == 0,
      send(descriptor, request, request.count, 0) == request.count
    else { return nil }
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, CInt(milliseconds)) == 1 else { return nil }
    var answer = [UInt8](repeating: 0, count: 48)
    guard recv(descriptor, &answer, answer.count, 0) == answer.count, answer[0] & 0x07 == 4,
      answer[1] != 0, answer[24..<32] == request[40..<48]
    else { return nil }
    let seconds = answer[40..<44].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    // The first bit is set until 2036, when the seconds wrap around.
    return (seconds & 1 << 31 == 0 ? seconds + 1 << 32 : seconds) - epoch
  }
}
