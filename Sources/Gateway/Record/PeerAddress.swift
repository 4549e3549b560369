import NIOCore

extension SocketAddress {
  /// As people write it: 127.0.0.1:2195, [::1]:2195.
  var text: String {
    guard let port else { return pathname ?? "" }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// Without the port; that of an IPv4 client is one of IPv4, whatever the gateway listens on.
  var host: String {
    let address = ipAddress ?? ""
    let mapped = "::ffff:"
    return address.hasPrefix(mapped) && address.contains(".")
      ? String(address.dropFirst(mapped.count)) : address
  }
}
