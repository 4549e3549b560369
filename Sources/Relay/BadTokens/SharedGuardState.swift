/// The values that relays and the operator share about the bad-token guard of an app.
package struct SharedGuardState: Sendable {
  private static let accepted = "guard.accepted"
  private static let overridden = "guard.let_go"
  private static let alarm = "guard.alarm"
  private static let sizes = "token.sizes"

  private let queue: any AppStateStore
  private let app: String

  package init(_ queue: any AppStateStore, app: String) {
    self.queue = queue
    self.app = app
  }

  /// Whether a push of this app was ever accepted.
  func hasAccepted() throws -> Bool { try queue.appState(Self.accepted, app: app) != nil }
  func setAccepted(at now: Int64) throws {
    try queue.setAppState(Self.accepted, "\(now)", app: app)
  }

  /// The sizes of tokens that APNs accepted.
  func sizes() throws -> TokenSizes {
    try queue.appState(Self.sizes, app: app).flatMap { TokenSizes($0) } ?? []
  }
  func setSizes(_ sizes: TokenSizes) throws {
    try queue.setAppState(Self.sizes, sizes.text, app: app)
  }

  /// The time until which bad tokens count despite the guard; 0 without an override.
  package func overriddenUntil() throws -> Int64 {
    try queue.appState(Self.overridden, app: app).flatMap { Int64($0) } ?? 0
  }
  package func setOverride(until time: Int64) throws {
    try queue.setAppState(Self.overridden, time > 0 ? "\(time)" : nil, app: app)
  }

  /// The last alarm of any relay; nil without an alarm.
  package func alarm() throws -> String? { try queue.appState(Self.alarm, app: app) }
  func setAlarm(_ words: String?) throws { try queue.setAppState(Self.alarm, words, app: app) }
}
