import Foundation
import Synchronization

/// Takes the requests of all connections of a door, and answers them.
final class RequestDesk: Sendable {
  private let door: HTTPDoorConfiguration
  private let relay: DoorRelay
  private let channels: ChannelDesk
  private let authorization: Mutex<AuthorizationList?>
  private let isShut = Atomic(false)
  let figures = DoorFigures()

  init(_ door: HTTPDoorConfiguration, _ relay: DoorRelay) throws {
    self.door = door
    self.relay = relay
    channels = ChannelDesk(relay.engine)
    authorization = Mutex(try Self.authorization(door))
  }

  private static func authorization(
    _ door: HTTPDoorConfiguration
  ) throws -> AuthorizationList? {
    try door.authorizationFile.map { try AuthorizationList(file: $0) }
  }

  /// Reads again who may push. If that fails, those who could still can.
  func refresh() throws {
    let list = try Self.authorization(door)
    authorization.withLock { $0 = list }
  }

  func shut() { isShut.store(true, ordering: .relaxed) }
  var hasShut: Bool { isShut.load(ordering: .relaxed) }

  /// nil lets it in.
  private func refusal(of request: DoorRequest) -> DoorAnswer? {
    if hasShut { return .refusal(503, "Shutdown", "the relay stops") }
    // Browsers say so on their own, nobody else does: a page from elsewhere must not push.
    if request.header("origin") != nil {
      return .refusal(403, "Forbidden", "this door is not for pages in a browser")
    }
    guard let authorization = authorization.withLock({ $0 }) else { return nil }
    guard let said = request.header("authorization") else {
      return .refusal(403, "MissingProviderToken", "this door asks for a bearer token")
    }
    guard authorization.knows(said) else {
      return .refusal(403, "InvalidProviderToken", "the bearer token is not one of this door's")
    }
    return nil
  }

  /// `tell` is called once, on any thread.
  func take(_ request: DoorRequest, _ tell: @escaping @Sendable (DoorAnswer) -> Void) {
    figures.began()
    let answer: @Sendable (DoorAnswer) -> Void = { [figures] answer in
      figures.answered(answer.status)
      tell(answer)
    }
    if let no = refusal(of: request) { return answer(no) }
    let rules = RequestRules(
      apps: relay.apps(), app: door.app, waitMS: Int64(door.waitS * 1000))
    do throws(DoorAnswer) {
      switch try rules.order(request) {
      case .push(let entry, let answering): push(entry, answering, answer)
      case .channels(let order): channels.carryOut(order, answer)
      }
    } catch {
      answer(Self.identified(error, request))
    }
  }

  /// APNs names each push it answers.
  private static func identified(_ answer: DoorAnswer, _ request: DoorRequest) -> DoorAnswer {
    let header = request.target.hasPrefix("/4/") ? "apns-request-id" : "apns-id"
    guard let id = request.header(header), ServiceSession.isUUID(id) else { return answer }
    return answer.with(header, id.lowercased())
  }

  private func push(
    _ entry: NewEntry, _ answering: RequestRules.Answering,
    _ answer: @escaping @Sendable (DoorAnswer) -> Void
  ) {
    let (relay, id, app) = (relay, entry.id, entry.app)
    let header = entry.channel == nil ? "apns-id" : "apns-request-id"
    let number = relay.waits.wait(
      app: app, id: id, target: entry.token ?? entry.channel ?? ""
    ) { end in
      var said = OutcomeAnswer.of(end, id: id, header: header)
      if answering.isPreferred, said.status == 202 {
        said = said.with("preference-applied", "respond-async")
      }
      answer(said)
    }
    relay.queue.add([entry]) { taking in
      switch taking {
      case .taken(let isNew):
        relay.look(app)
        relay.waits.queued(app: app, id: id, number, isNew: isNew, forMS: answering.waitMS)
      case .failed(let error):
        guard relay.waits.forget(app: app, id: id, number) else { return }
        answer(
          .refusal(503, "ServiceUnavailable", "the queue: \(error)").with("retry-after", "1"))
      }
    }
  }
}
