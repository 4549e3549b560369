/// Checks a relay's HTTP listener with a request that it refuses. It pushes no notification.
struct HTTPListenerCheck {
  /// HOST:PORT, or the path of a UNIX socket.
  var place: String
  var seconds: Double

  static func isPlace(_ text: String) -> Bool {
    if text.hasPrefix("/") { return true }
    return ((try? ServiceAddress(text))?.port) != nil
  }

  /// Whether it was reached.
  func run(_ report: inout Report) -> Bool {
    do throws(TimedSocket.Fault) {
      let socket = try connect()
      socket.send(
        "POST /3/device/doctor HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
          .utf8
      )
      evaluate(String(decoding: socket.readAll(limit: 4096), as: UTF8.self), &report)
      return true
    } catch {
      report.problem(
        "http-listener-unreachable", place, "no connection: \(error.text)",
        "relay.yaml must have a listener with 'type: http'; without host it accepts connections from its own machine only; a socket's directory and socket_mode restrict its users"
      )
      return false
    }
  }

  private func connect() throws(TimedSocket.Fault) -> TimedSocket {
    if place.hasPrefix("/") { return try .connect(path: place, seconds: seconds) }
    let address = try? ServiceAddress(place)
    return try .connect(
      host: address?.host ?? "", port: address?.port ?? 0, seconds: seconds)
  }

  private func evaluate(_ response: String, _ report: inout Report) {
    let status = response.split(separator: " ").dropFirst().first.map(String.init) ?? ""
    if status == "400", response.contains("BadDeviceToken") {
      report.fine(place, "an HTTP listener of a relay: anyone who can reach it can push")
    } else if status == "403", response.contains("ProviderToken") {
      report.fine(
        place, "an HTTP listener of a relay: it requires a bearer token from its authorization_file"
      )
    } else if status == "503" {
      report.problem(
        "http-listener-stops", place, "the relay is stopping, or its queue fails",
        "see the relay's log")
    } else {
      let line = response.prefix { $0 != "\r\n" && $0 != "\n" }.prefix(80)
      report.problem(
        "http-listener-other", place,
        line.isEmpty
          ? "no response" : "it is not an HTTP listener of a relay; it sends \"\(line)\"",
        "check the address: 'port' or 'socket' of the listener in relay.yaml")
    }
  }
}
