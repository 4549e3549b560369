import Gateway
import NIOHTTP1

/// What is served: the page's files, what it shows, and what its buttons do.
struct PageDesk: Sendable {
  let simulator: Simulator
  let configuration: Dashboard.Configuration
  let wire: WireLog

  private static let pushes = "/pushes/"
  private static let control = "/control"
  /// What of the control interface is the page's: it does not end the run.
  private static let controls = ["/accepted", "/counters", "/faults", "/reset", "/unregistered"]
  private static let connections = "/connections/"

  func answer(_ request: Request) async -> Response {
    let path = request.path
    if path.hasPrefix(Self.control + "/") {
      return await control(String(path.dropFirst(Self.control.count)), request)
    }
    guard request.method == .GET else {
      return JSONAnswer.fault(.methodNotAllowed, "\(path) takes GET")
    }
    if let file = PageFile.all.first(where: { $0.path == path }) { return file.response }
    if path == "/events" { return events(request) }
    if path == "/fault-fields" { return JSONAnswer.make(FaultFields.json) }
    if path.hasPrefix(Self.pushes), let number = Int(path.dropFirst(Self.pushes.count)) {
      guard let sighting = simulator.ledger.sightings?[number] else {
        return JSONAnswer.fault(.notFound, "push \(number) is no longer kept")
      }
      return JSONAnswer.make(PushText.details(sighting))
    }
    return JSONAnswer.fault(.notFound, "nothing here")
  }

  /// The same as the control interface does, by the same code.
  private func control(_ path: String, _ request: Request) async -> Response {
    guard Self.controls.contains(path) || path.hasPrefix(Self.connections) else {
      return JSONAnswer.fault(.notFound, "nothing here")
    }
    guard let body = request.body else {
      return JSONAnswer.fault(.payloadTooLarge, "a body of more than \(Request.bodyMax) bytes")
    }
    let answer = await simulator.service.answer(
      ControlService.Request(
        method: request.method.rawValue, path: path, query: request.query, body: body))
    return JSONAnswer.make(answer.json, status: HTTPResponseStatus(statusCode: answer.status))
  }

  private func events(_ request: Request) -> Response {
    let language = request.query["language"]
    let feed = EventFeed(
      service: simulator.service, configuration: configuration, language: language, wire: wire)
    return Response(
      status: .ok, headers: ["content-type": "text/event-stream"],
      body: .stream { writer in try await feed.write(to: writer) })
  }
}
