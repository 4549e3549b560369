/// The limits for each kind of connection: the configured ones if the process may open enough
/// files, and smaller ones otherwise.
struct ConnectionLimits {
  let gateway: Int
  let feedback: Int
  let handshakes: Int
  /// Whether the limits are smaller than configured.
  let isCut: Bool

  init(_ door: BinaryDoorConfiguration, files: Int) {
    // A connection that is being closed keeps its file for a moment, so each handshake counts
    // twice.
    let rest = files - 2 * door.handshakes - door.feedbackConnections
    isCut = door.connections > rest
    guard isCut else {
      gateway = door.connections
      feedback = door.feedbackConnections
      handshakes = door.handshakes
      return
    }
    handshakes = max(1, min(door.handshakes, files / 16))
    feedback = max(1, min(door.feedbackConnections, files / 8))
    gateway = max(1, min(door.connections, files - 2 * handshakes - feedback))
  }

  var all: Int { gateway + feedback + 2 * handshakes }
}
