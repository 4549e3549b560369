import Logging
import Synchronization

/// The connection quotas of a port: limits for each app, and for each address of an app. Half of
/// the connections are divided among the apps, so that no app locks another out; the rest is first
/// come, first served.
final class ClientQuotas: Sendable {
  struct Client: Hashable, Sendable {
    var app: String
    /// The address without the port.
    var address: String
  }

  private struct State {
    var apps: [String: Int] = [:]
    var clients: [Client: Int] = [:]
    /// Refused clients, and the time of their last refusal (monotonic). The address "" stands for a
    /// whole app.
    var refused: [Client: Int64] = [:]
  }

  private let total: Int
  private let mostOfApp: Int
  private let mostOfAddress: Int
  private let logger: Logger
  private let state = Mutex(State())

  /// A client that is accepted this long after the last refusal ends the warning.
  private static let quietMS: Int64 = 60_000
  private static let mostSaid = 100

  /// A limit of 0 is derived from the total.
  init(_ total: Int, mostOfApp: Int = 0, mostOfAddress: Int = 0, _ logger: Logger) {
    self.total = total
    self.mostOfApp = mostOfApp
    self.mostOfAddress = mostOfAddress
    self.logger = logger
  }

  /// Admits the client until `leave`, and returns nil; otherwise returns the limit that it reached.
  /// `apps` is the number of apps.
  func enter(_ client: Client, of apps: Int) -> ListenerFigures.Limit? {
    let now = RelayClock.monotonic
    let (limit, line) = state.withLock {
      state -> (ListenerFigures.Limit?, (Logger.Level, String)?) in
      let ofApp = state.apps[client.app, default: 0]
      let ofClient = state.clients[client, default: 0]
      let own = max(total < apps ? 0 : 1, total / (2 * max(1, apps)))
      let common = max(0, total - own * apps)
      let taken = state.apps.values.reduce(0) { $0 + max(0, $1 - own) }
      let most = mostOfApp > 0 ? min(mostOfApp, own + common) : own + common
      let who: Client
      let limit: ListenerFigures.Limit
      if ofApp >= most || ofApp >= own && taken >= common {
        (who, limit) = (Client(app: client.app, address: ""), .app)
      } else if ofClient >= (mostOfAddress > 0 ? mostOfAddress : most - most / 4) {
        (who, limit) = (client, .address)
      } else {
        state.apps[client.app] = ofApp + 1
        state.clients[client] = ofClient + 1
        return (nil, Self.end(client, at: now, &state))
      }
      let isKnown = state.refused.updateValue(now, forKey: who) != nil
      if isKnown { return (limit, nil) }
      guard state.refused.count <= Self.mostSaid else {
        state.refused[who] = nil
        return (limit, nil)
      }
      let count = limit == .app ? ofApp : ofClient
      return (
        limit, (.warning, "clients of \(Self.words(who)) are refused: \(count) are connected")
      )
    }
    if let (level, text) = line { logger.log(level: level, "\(text)") }
    return limit
  }

  private static func end(
    _ client: Client, at now: Int64, _ state: inout State
  ) -> (Logger.Level, String)? {
    for who in [client, Client(app: client.app, address: "")] {
      guard let last = state.refused[who], now - last > quietMS else { continue }
      state.refused[who] = nil
      return (.notice, "clients of \(words(who)) are accepted again")
    }
    return nil
  }

  private static func words(_ who: Client) -> String {
    who.address.isEmpty ? who.app : "\(who.app) at \(who.address)"
  }

  func leave(_ client: Client) {
    state.withLock { state in
      state.apps[client.app] = Self.less(state.apps[client.app])
      state.clients[client] = Self.less(state.clients[client])
    }
  }

  /// nil if none remains.
  private static func less(_ count: Int?) -> Int? { count.flatMap { $0 > 1 ? $0 - 1 : nil } }
}
