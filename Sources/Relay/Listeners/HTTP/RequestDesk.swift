import Foundation
import HTTPServer
import Synchronization

/// Processes the requests of all connections of a listener.
final class RequestDesk: Sendable {
  private let listener: HTTPListenerConfiguration
  private let relay: ListenerRelay
  private let channels: ChannelManagement
  private let authorization: Mutex<AuthorizationList?>
  /// The accepted host names. nil on a UNIX socket, which no web page can reach, and on an address
  /// beyond this machine, where tokens are required and the machine's names are unknown.
  private let names: ListenerNames?
  private let bodies = BodyRoom()
  /// Reads batches, which takes longer than the connections may wait.
  private let reading = OperationQueue()
  private let isShut = Atomic(false)
  let figures = ListenerFigures()

  init(_ listener: HTTPListenerConfiguration, _ relay: ListenerRelay) throws {
    self.listener = listener
    self.relay = relay
    channels = ChannelManagement(relay.engine)
    names =
      listener.isLocal && listener.socket == nil ? ListenerNames(listeningOn: listener.host) : nil
    authorization = Mutex(try Self.authorization(listener, relay.apps().all))
    reading.maxConcurrentOperationCount = 1
  }

  static func authorization(
    _ listener: HTTPListenerConfiguration, _ apps: [AppConfiguration]
  ) throws -> AuthorizationList? {
    try listener.authorizationFile.map {
      try AuthorizationList(file: $0, apps: apps.map(\.name), own: listener.app)
    }
  }

  /// Reads the authorization file again. If that fails, the old list stays in force.
  func refresh() throws {
    let list = try Self.authorization(listener, relay.apps().all)
    authorization.withLock { $0 = list }
  }

  func shut() { isShut.store(true, ordering: .relaxed) }
  var hasShut: Bool { isShut.load(ordering: .relaxed) }

  /// The apps that the client may push for; nil for all.
  private func client(_ request: ListenerRequest) throws(ListenerResponse) -> AuthorizationList
    .Apps?
  {
    // Only browsers send these header fields, and a foreign page must not push.
    if request.header("origin") != nil
      || request.values("sec-fetch-site").contains(where: { $0 != "none" })
    {
      throw .refusal(403, "Forbidden", "this listener refuses requests of web pages")
    }
    guard let authorization = authorization.withLock({ $0 }) else { return nil }
    guard let said = request.header("authorization") else {
      throw .refusal(403, "MissingProviderToken", "this listener requires a bearer token")
    }
    guard let apps = authorization.client(said) else {
      throw .refusal(403, "InvalidProviderToken", "the bearer token is not valid for this listener")
    }
    return apps
  }

  /// The path of the target, if the request is for this listener.
  private func path(_ request: ListenerRequest) throws(ListenerResponse) -> String {
    let target: RequestTarget
    do throws(RequestTarget.Fault) {
      target = try RequestTarget(
        request.target, hosts: request.values("host"), needsHost: request.version != .http1_0,
        takesAbsolute: request.version != .http2)
    } catch {
      throw .refusal(error.status, error.status == 421 ? "Misdirected" : "BadRequest", "\(error)")
    }
    guard let names else { return target.path }
    guard let authority = target.authority else {
      if request.version == .http1_0 { return target.path }
      throw .refusal(400, "BadRequest", "Host is empty")
    }
    guard names.contains(authority) else {
      throw .refusal(
        421, "Misdirected", "the Host is foreign: use 127.0.0.1, localhost or \(listener.host)")
    }
    return target.path
  }

  private func rules(for request: ListenerRequest) throws(ListenerResponse) -> RequestRules {
    RequestRules(
      apps: relay.apps(), app: listener.app, clientApps: try client(request),
      waitMS: Int64(listener.waitS * 1000))
  }

  /// Only a client that may add entries gets the room for them. Any other one gets its response
  /// instead of more room.
  func limit(of request: ListenerRequest) -> BodyLimit {
    do throws(ListenerResponse) {
      var request = request
      request.target = try path(request)
      guard case .entries = try rules(for: request).order(request) else { return .ofPush }
      return .ofBatch
    } catch {
      return BodyLimit(BodyLimit.ofPush.bytes, excess: error)
    }
  }

  func share() -> BodyRoom.Share { BodyRoom.Share(of: bodies) }

  static let fullOfBatches = ListenerResponse.refusal(
    503, "ServiceUnavailable", "other batches take all the memory for them"
  ).with("retry-after", "1")

  /// `report` is called exactly once, on any thread.
  func take(_ request: ListenerRequest, _ report: @escaping @Sendable (ListenerResponse) -> Void) {
    figures.began()
    let answer: @Sendable (ListenerResponse) -> Void = { [figures] answer in
      figures.responded(answer.status)
      report(answer)
    }
    do throws(ListenerResponse) {
      if hasShut { throw .refusal(503, "Shutdown", "the relay stops") }
      var request = request
      request.target = try path(request)
      switch try rules(for: request).order(request) {
      case .push(let entry, let answering): push(entry, answering, answer)
      case .channels(let order): channels.carryOut(order, answer)
      case .entries(let batch): reading.addOperation { self.add(batch, answer) }
      }
    } catch {
      answer(error)
    }
  }

  /// Counts a request that gets its response before all of it was read, or that is unreadable.
  func refused(_ status: Int) {
    figures.began()
    figures.responded(status)
  }

  private func push(
    _ entry: NewEntry, _ answering: RequestRules.Answering,
    _ answer: @escaping @Sendable (ListenerResponse) -> Void
  ) {
    let (relay, id, app) = (relay, entry.id, entry.app)
    let header = entry.channel == nil ? "apns-id" : "apns-request-id"
    let number = relay.waits.wait(
      app: app, id: id, target: entry.token ?? entry.channel ?? ""
    ) { end in
      var said = OutcomeResponse.of(end, id: id, header: header)
      if answering.isPreferred, said.status == 202 {
        said = said.with("preference-applied", "respond-async")
      }
      answer(said)
    }
    relay.queue.add([entry]) { taking in
      switch taking {
      case .success(let taken):
        relay.look(app)
        relay.waits.queued(app: app, id: id, number, isNew: taken.isNew, forMS: answering.waitMS)
      case .failure(let error):
        guard relay.waits.forget(app: app, id: id, number) else { return }
        answer(Self.unqueued(error))
      }
    }
  }

  private func add(
    _ batch: EntryBatch, _ answer: @escaping @Sendable (ListenerResponse) -> Void
  ) {
    let entries: [NewEntry]
    do throws(EntryBatch.Fault) {
      entries = try batch.entries()
    } catch {
      return answer(error.response)
    }
    guard !entries.isEmpty else { return answer(EntryBatch.response(added: 0, known: 0)) }
    let (relay, app) = (relay, batch.app.name)
    relay.queue.add(entries, isWhole: true) { taking in
      switch taking {
      case .success(let taken):
        relay.look(app)
        answer(EntryBatch.response(added: taken.added, known: entries.count - taken.added))
      case .failure(let error): answer(Self.unqueued(error))
      }
    }
  }

  private static func unqueued(_ error: any Error) -> ListenerResponse {
    .refusal(503, "ServiceUnavailable", "the queue: \(error)").with("retry-after", "1")
  }
}
