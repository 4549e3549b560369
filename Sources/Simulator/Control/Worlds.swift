import JSON
import NIOConcurrencyHelpers

/// The worlds that the control API has made on one simulator, for tests that run beside each other.
package final class Worlds: Sendable {
  /// One world as the control API sees it.
  struct World: Sendable {
    var service: ControlService
    /// Its ports and its seed, as members of a JSON object.
    var members: String
    /// Everything that its connections sent is recorded when it returns.
    var stop: @Sendable () async -> Void
  }

  /// A path below `/worlds`.
  struct Path {
    var world: Int?
    /// The path in the world's own control API; nil for the world itself.
    var rest: String?

    /// nil if it is another path.
    init?(_ path: String) {
      guard path.hasPrefix("\(Worlds.path)/") else { return nil }
      let parts = path.dropFirst(Worlds.path.utf8.count + 1)
        .split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      world = Int(parts[0])
      if parts.count == 2 { rest = "/\(parts[1])" }
    }
  }

  private struct State {
    var last = 0
    /// Worlds whose ports are not open yet.
    var starting = 0
    var open: [Int: World] = [:]
  }

  static let path = "/worlds"
  static let options: [ControlRoute.Field] = [
    .optional("like", "string", "as --like; faults changes it"),
    .optional("faults", nil, "an object, or an array of rules"),
    .optional("seed", "integer"),
    .optional("topics", "array", "as --topic"),
    .optional("team_topics", "array", "as --team-topic"),
    .optional("no_broadcasts", "array", "as --no-broadcasts"),
    .optional("channels_max", "integer"),
    .optional("environment", "string", "sandbox or production"),
    .optional("check_payload", "boolean"),
    .optional("replay", "array", "the lines of a recording"),
    .optional("speed", "number", "as --speed"),
  ]

  private let max: Int
  private let make: @Sendable (JSONValue?) async throws -> World
  private let state = NIOLockedValueBox(State())

  init(max: Int, make: @escaping @Sendable (JSONValue?) async throws -> World) {
    self.max = max
    self.make = make
  }

  /// GET lists the worlds, POST makes one.
  func response(
    to request: ControlService.Request
  ) async throws(JSONError) -> ControlService.Response {
    if request.method == "GET" {
      let open = state.withLockedValue { $0.open.sorted { $0.key < $1.key } }
      return .ok("{\"worlds\":[\(open.map(Self.json).joined(separator: ","))]}")
    }
    let options = request.body.isEmpty ? nil : try JSONParser.read(request.body)
    let number = state.withLockedValue { state -> Int? in
      if state.open.count + state.starting >= max { return nil }
      state.starting += 1
      state.last += 1
      return state.last
    }
    guard let number else {
      return .fault(503, "there are \(max) worlds already; DELETE \(Self.path)/N ends one")
    }
    do {
      let world = try await make(options)
      state.withLockedValue { state in
        state.starting -= 1
        state.open[number] = world
      }
      return ControlService.Response(status: 201, json: Self.json(number, world))
    } catch {
      state.withLockedValue { $0.starting -= 1 }
      if let error = error as? JSONError { throw error }
      return .fault(503, "\(error)")
    }
  }

  /// Passes a request on to the control API of a world. DELETE of the world itself ends it.
  func response(to request: ControlService.Request, _ path: Path) async -> ControlService.Response {
    guard let number = path.world, let world = state.withLockedValue({ $0.open[number] }) else {
      return .fault(404, "this world does not exist; GET \(Self.path) lists them")
    }
    if let rest = path.rest {
      var request = request
      request.path = rest
      return await world.service.response(to: request)
    }
    if request.method == "GET" { return .ok(Self.json(number, world)) }
    // Another request may be ending it.
    guard state.withLockedValue({ $0.open.removeValue(forKey: number) }) != nil else {
      return .fault(404, "world \(number) ends")
    }
    await world.stop()
    return .ok(world.service.counters)
  }

  func stop() async {
    let open = state.withLockedValue { state in
      defer { state.open = [:] }
      return state.open
    }
    for world in open.values { await world.stop() }
  }

  private static func json(_ number: Int, _ world: World) -> String {
    "{\"world\":\(number),\"path\":\"\(path)/\(number)\",\(world.members)}"
  }
}
