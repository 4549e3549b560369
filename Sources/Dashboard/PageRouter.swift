import Simulator

/// Routes requests to the page's files, its data and its actions.
struct PageRouter: Sendable {
  let simulator: SimulatedGateway
  let configuration: DashboardServer.Configuration
  let wire: ConnectionLog
  /// nil if no pushes are kept.
  let pushes: PushRouter?

  init(
    simulator: SimulatedGateway, configuration: DashboardServer.Configuration, wire: ConnectionLog
  ) {
    self.simulator = simulator
    self.configuration = configuration
    self.wire = wire
    pushes = simulator.ledger.recentPushes.map {
      PushRouter(
        recentPushes: $0, languages: configuration.languages,
        repeater: PushRepeater(gateway: configuration.gateway))
    }
  }

  private static let control = "/control"
  /// The parts of the control API that the page may use. It cannot end the run.
  private static let controls = ["/accepted", "/counters", "/faults", "/reset", "/unregistered"]
  private static let connections = "/connections/"

  func respond(_ request: Request) async -> Response {
    let path = request.path
    if path.hasPrefix(Self.control + "/") {
      return await control(String(path.dropFirst(Self.control.count)), request)
    }
    if let pushes, PushRouter.takes(path) {
      return await pushes.respond(request.method.rawValue, path, request.query)
    }
    guard request.method == .GET else {
      return .fault(405, "\(path) takes GET")
    }
    if let file = PageFile.all.first(where: { $0.path == path }) { return file.response }
    if path == "/events" { return events(request) }
    if path == "/fault-fields" { return .json(FaultFields.json) }
    return .fault(404, "not found")
  }

  /// Runs the code of the control API.
  private func control(_ path: String, _ request: Request) async -> Response {
    guard Self.controls.contains(path) || path.hasPrefix(Self.connections) else {
      return .fault(404, "not found")
    }
    guard let body = request.body else {
      return .fault(413, "a body of more than \(Request.bodyMax) bytes")
    }
    let result = await simulator.service.response(
      to: ControlService.Request(
        method: request.method.rawValue, path: path, query: request.query, body: body))
    return .json(result.json, status: result.status)
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
