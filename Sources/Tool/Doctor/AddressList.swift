import Glibc

/// The addresses of a name, as text.
enum AddressList {
  static func of(_ host: String) -> [String] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var (next, addresses) = (list, [String]())
    while let entry = next?.pointee {
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      if getnameinfo(
        entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      {
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        addresses.append(String(decoding: bytes, as: UTF8.self))
      }
      next = entry.ai_next
    }
    return addresses
  }
}
