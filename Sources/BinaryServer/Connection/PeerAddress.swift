import NIOCore

extension SocketAddress {
  /// The address with its port: 127.0.0.1:2195, [::1]:2195.
  package var text: String {
    guard let port else { return pathname ?? "" }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// The address without its port. An IPv4 client has an IPv4 address even if the server listens on
  /// IPv6.
  package var host: String {
    let address = ipAddress ?? ""
    let mapped = "::ffff:"
    return address.hasPrefix(mapped) && address.contains(".")
      ? String(address.dropFirst(mapped.count)) : address
  }
}
