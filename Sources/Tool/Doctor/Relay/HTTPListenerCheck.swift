/// Asks a relay's HTTP listener what it refuses by itself. Nothing is pushed.
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
      judge(String(decoding: socket.readAll(most: 4096), as: UTF8.self), &report)
      return true
    } catch {
      report.add(
        Finding(
          cause: "http-listener-unreachable", about: place, message: "no connection: \(error.text)",
          remedy:
            "'type: http' has to be among the listeners in relay.yaml; without host it takes connections of its own machine only; a socket's directory and socket_mode say who may use it"
        ))
      return false
    }
  }

  private func connect() throws(TimedSocket.Fault) -> TimedSocket {
    if place.hasPrefix("/") { return try .connect(path: place, seconds: seconds) }
    let address = try? ServiceAddress(place)
    return try .connect(
      host: address?.host ?? "", port: address?.port ?? 0, seconds: seconds)
  }

  private func judge(_ answer: String, _ report: inout Report) {
    let status = answer.split(separator: " ").dropFirst().first.map(String.init) ?? ""
    if status == "400", answer.contains("BadDeviceToken") {
      report.fine(place, "an HTTP listener of a relay: whoever reaches it can push")
    } else if status == "403", answer.contains("ProviderToken") {
      report.fine(
        place, "an HTTP listener of a relay: it wants a bearer token of its authorization_file")
    } else if status == "503" {
      report.add(
        Finding(
          cause: "http-listener-stops", about: place,
          message: "the relay stops, or its queue fails",
          remedy: "see the relay's log"))
    } else {
      let line = answer.prefix { $0 != "\r\n" && $0 != "\n" }.prefix(80)
      report.add(
        Finding(
          cause: "http-listener-other", about: place,
          message: line.isEmpty
            ? "it says nothing" : "it is not an HTTP listener of a relay; it answers \"\(line)\"",
          remedy: "check the address: 'port' or 'socket' of the listener in relay.yaml"))
    }
  }
}
