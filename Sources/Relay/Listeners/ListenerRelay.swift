import Logging

/// The parts of the relay that a listener uses.
package struct ListenerRelay: Sendable {
  package var queue: ListenerQueue
  package var waits: OutcomeWaits
  /// Bad tokens, for a listener that rejects by them.
  package var badTokens: BadTokens
  /// For feedback, and for the provider tokens that all relays share.
  package var engine: any QueueEngine
  package var log: Logger
  package var sockets: PassedSockets
  /// The apps in the current configuration.
  package var apps: @Sendable () -> ServedApps
  /// Wakes the app's worker, because the queue has new entries.
  package var look: @Sendable (_ app: String) -> Void
}

/// An open listener.
package protocol RelayListener: AnyObject, Sendable {
  var name: String { get }
  /// The address, for logs and status.
  var place: String { get }
  var figures: ListenerFigures.Shown { get }
  /// Reads the configured files again.
  func refresh() throws
  /// Refuses new connections. Pending requests still get their responses.
  func shut()
  /// Closes all connections, and returns once they are closed.
  func close()
}
