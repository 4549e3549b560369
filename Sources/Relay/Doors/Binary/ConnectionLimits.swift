/// How many connections of each kind there may be at the same time: as many as the configuration says, where the
/// process may open so many files.
struct ConnectionLimits {
  let gateway: Int
  let feedback: Int
  let handshakes: Int
  /// The files are too few.
  let isCut: Bool

  init(_ door: BinaryDoorConfiguration, files: Int) {
    // One that has to end is a file for another moment.
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
