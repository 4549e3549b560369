import Foundation

/// Asks the status server of a running relay.
package struct StatusQuery {
  /// Longer than the relay takes to prepare a response.
  private static let patienceMS: Int64 = 10_000
  private static let mostBytes = 65_536

  private let host: String
  private let port: Int
  private var place: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

  package init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// The status of the response, and its body.
  package func get(_ path: String) throws -> (status: Int, body: String) {
    // An IPv6 address may have a zone.
    guard ClientTLS.isAddress(String(host.prefix { $0 != "%" })) else {
      throw RelayFault("status.host: '\(host)' is not an IP address such as 127.0.0.1 or ::1")
    }
    let text: String
    do throws(ClientSocket.Failure) {
      text = try response(to: path)
    } catch {
      switch error {
      case .late: throw RelayFault("\(place): no response for \(Self.patienceMS / 1000) s")
      case .broken(let words): throw RelayFault("\(place): \(words)")
      }
    }
    let words = text.prefix { $0 != "\r\n" }.split(separator: " ")
    guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]),
      let head = text.range(of: "\r\n\r\n")
    else { throw RelayFault("\(place): the response is not the relay's") }
    return (status, String(text[head.upperBound...]))
  }

  private func response(to path: String) throws(ClientSocket.Failure) -> String {
    let until = RelayClock.monotonic + Self.patienceMS
    let socket = try ClientSocket(host: host, port: port, nil, until: until)
    // HTTP/1.0 needs no Host, and ends with the connection.
    try socket.send(Array("GET \(path) HTTP/1.0\r\n\r\n".utf8), until: until)
    var response: [UInt8] = []
    do throws(ClientSocket.Failure) {
      while response.count < Self.mostBytes { response += try socket.receive(until: until) }
    } catch {
      // Otherwise it is the end of the connection.
      if case .late = error { throw error }
    }
    return String(decoding: response, as: UTF8.self)
  }
}
