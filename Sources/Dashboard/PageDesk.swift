import Gateway
import HTTPTypes
import HummingbirdCore
import NIOCore

/// What is served: the page's files, what it shows, and what its buttons do.
struct PageDesk: Sendable {
  let simulator: Simulator
  let configuration: Dashboard.Configuration
  let wire: WireLog
  /// nil where no pushes are kept.
  let pushes: PushDesk?

  init(simulator: Simulator, configuration: Dashboard.Configuration, wire: WireLog) {
    self.simulator = simulator
    self.configuration = configuration
    self.wire = wire
    pushes = simulator.ledger.sightings.map {
      PushDesk(
        sightings: $0, languages: configuration.languages,
        repetition: Repetition(gateway: configuration.gateway))
    }
  }

  private static let bodyMax = 1 << 16
  private static let control = "/control"
  /// What of the control interface is the page's: it does not end the run.
  private static let controls = ["/accepted", "/counters", "/faults", "/reset", "/unregistered"]
  private static let connections = "/connections/"

  func answer(_ request: Request) async -> Response {
    let path = request.uri.path
    if path.hasPrefix(Self.control + "/") {
      return await control(String(path.dropFirst(Self.control.count)), request)
    }
    if let pushes, PushDesk.takes(path) {
      return response(await pushes.answer(request.method.rawValue, path, query(request)))
    }
    guard request.method == .get else {
      return JSONAnswer.fault(.methodNotAllowed, "\(path) takes GET")
    }
    if let file = PageFile.all.first(where: { $0.path == path }) { return file.response }
    if path == "/events" { return events(request) }
    if path == "/fault-fields" { return JSONAnswer.make(FaultFields.json) }
    return JSONAnswer.fault(.notFound, "nothing here")
  }

  /// The same as the control interface does, by the same code.
  private func control(_ path: String, _ request: Request) async -> Response {
    guard Self.controls.contains(path) || path.hasPrefix(Self.connections) else {
      return JSONAnswer.fault(.notFound, "nothing here")
    }
    var body: [UInt8] = []
    do {
      for try await part in request.body {
        guard body.count + part.readableBytes <= Self.bodyMax else {
          return JSONAnswer.fault(.contentTooLarge, "a body of more than \(Self.bodyMax) bytes")
        }
        body += part.readableBytesView
      }
    } catch {
      return JSONAnswer.fault(.badRequest, "the body broke off")
    }
    let answer = await simulator.service.answer(
      ControlService.Request(
        method: request.method.rawValue, path: path, query: query(request), body: body))
    return JSONAnswer.make(answer.json, status: HTTPResponse.Status(code: answer.status))
  }

  private func query(_ request: Request) -> [String: String] {
    var query: [String: String] = [:]
    for (name, value) in request.uri.queryParameters { query[String(name)] = String(value) }
    return query
  }

  private func response(_ answer: PushAnswer) -> Response {
    var headers: HTTPFields = [.contentType: answer.type]
    if let name = answer.fileName {
      headers[.contentDisposition] = "attachment; filename=\"\(name)\""
    }
    return Response(
      status: HTTPResponse.Status(code: answer.status), headers: headers,
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.bytes)))
  }

  private func events(_ request: Request) -> Response {
    let language = request.uri.queryParameters["language"].map(String.init)
    let feed = EventFeed(
      service: simulator.service, configuration: configuration, language: language, wire: wire)
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream"],
      body: ResponseBody { writer in try await feed.write(to: &writer) })
  }
}
