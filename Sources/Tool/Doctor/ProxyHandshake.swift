#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Opens a tunnel through a proxy.
struct ProxyHandshake {
  private static let longestAnswer = 8192

  let request: String

  init(to place: ServicePlace, user: String?, password: String?) {
    let host = place.host.contains(":") ? "[\(place.host)]" : place.host
    var text = "CONNECT \(host):\(place.port) HTTP/1.1\r\nHost: \(host):\(place.port)\r\n"
    if let user {
      let both = Data("\(user):\(password ?? "")".utf8).base64EncodedString()
      text += "Proxy-Authorization: Basic \(both)\r\n"
    }
    request = text + "\r\n"
  }

  /// Whether the proxy opened it.
  func isGranted(by proxy: borrowing TimedSocket) -> Bool {
    proxy.send(request.utf8)
    var answer: [UInt8] = []
    while !answer.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      // Byte by byte, because everything after the response comes from the destination.
      let byte = proxy.read(limit: 1)
      guard !byte.isEmpty, answer.count < Self.longestAnswer else { return false }
      answer += byte
    }
    return answer.dropFirst(9).first == UInt8(ascii: "2")
  }
}
