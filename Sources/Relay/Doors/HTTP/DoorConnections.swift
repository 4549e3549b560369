import NIOCore
import Synchronization

/// The connections of a door, so that they can be closed.
final class DoorConnections: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  var all: [any Channel] { channels.withLock { Array($0.values) } }

  func add(_ channel: any Channel) {
    channels.withLock { $0[ObjectIdentifier(channel)] = channel }
  }

  func remove(_ channel: any Channel) {
    _ = channels.withLock { $0.removeValue(forKey: ObjectIdentifier(channel)) }
  }
}
