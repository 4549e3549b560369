import Logging

/// What a door has of its relay.
package struct DoorRelay: Sendable {
  package var queue: DoorQueue
  package var waits: OutcomeWaits
  /// Tokens that the service refused, for a door that judges by them.
  package var refused: RefusedTokens
  /// Those that the configuration has now.
  package var apps: @Sendable () -> [AppConfiguration]
  /// Says that something of this app is in the queue.
  package var look: @Sendable (_ app: String) -> Void
  /// For provider tokens, which all relays share.
  package var engine: any QueueEngine
  package var log: Logger

  package init(
    queue: DoorQueue, waits: OutcomeWaits, refused: RefusedTokens, engine: any QueueEngine,
    log: Logger,
    apps: @escaping @Sendable () -> [AppConfiguration],
    look: @escaping @Sendable (_ app: String) -> Void
  ) {
    self.queue = queue
    self.waits = waits
    self.refused = refused
    self.engine = engine
    self.log = log
    self.apps = apps
    self.look = look
  }
}

/// A door that is open.
package protocol Door: AnyObject, Sendable {
  var name: String { get }
  /// Where it listens, as it may be shown.
  var place: String { get }
  var figures: DoorFigures.Shown { get }
  /// Reads again the files that its configuration names.
  func refresh() throws
  /// Lets nobody in any more. Those who are in get their answers.
  func shut()
  /// Closes what is open still. Returns once all is closed.
  func close()
}
