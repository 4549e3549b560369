import BinaryServer
import Logging
import Synchronization

/// The listeners of a relay. Other threads see their figures.
final class OpenListeners: Sendable {
  private typealias Listening = (
    configuration: ListenerConfiguration, listener: any RelayListener
  )

  private let relay: ListenerRelay
  private var log: Logger { relay.log }
  private let open = Mutex<[Listening]>([])

  init(_ relay: ListenerRelay) { self.relay = relay }

  var all: [any RelayListener] { open.withLock { $0.map(\.listener) } }

  func open(_ wanted: ListenerConfiguration) throws {
    let listener: any RelayListener
    switch wanted {
    case .http(let http):
      let opened = try HTTPListener(http, relay)
      for warning in opened.warnings { log.warning("listeners.\(http.name): \(warning)") }
      listener = opened
    case .binary(let binary): listener = try BinaryListener(binary, relay)
    }
    open.withLock { $0.append((wanted, listener)) }
    log.notice("the listener \(listener.name) is open", metadata: ["place": "\(listener.place)"])
  }

  /// Unchanged listeners keep their connections.
  func reopen(_ wanted: [ListenerConfiguration]) {
    let gone = open.withLock { listeners in
      defer { listeners.removeAll { !wanted.contains($0.configuration) } }
      return listeners.filter { !wanted.contains($0.configuration) }
    }
    for one in gone {
      one.listener.close()
      log.notice("the listener \(one.listener.name) is closed")
    }
    let kept = open.withLock { $0 }
    for one in kept {
      do {
        try one.listener.refresh()
      } catch {
        log.error("the listener \(one.listener.name) keeps its previous configuration: \(error)")
      }
    }
    for one in wanted where !kept.contains(where: { $0.configuration == one }) {
      do {
        try open(one)
      } catch {
        log.error("\(error)")
      }
    }
  }
}
