/// The limits for each kind of connection: the configured ones if the process may open enough
/// files, and smaller ones otherwise.
struct ConnectionLimits {
  let gateway: Int
  let feedback: Int
  let handshakes: Int
  /// Whether the limits are smaller than configured.
  let isCut: Bool

  init(_ listener: BinaryListenerConfiguration, files: Int) {
    // A connection that is being closed keeps its file for a moment, so each handshake counts
    // twice.
    let rest = files - 2 * listener.handshakes - listener.feedbackConnections
    isCut = listener.connections > rest
    guard isCut else {
      gateway = listener.connections
      feedback = listener.feedbackConnections
      handshakes = listener.handshakes
      return
    }
    handshakes = max(1, min(listener.handshakes, files / 16))
    feedback = max(1, min(listener.feedbackConnections, files / 8))
    gateway = max(1, min(listener.connections, files - 2 * handshakes - feedback))
  }

  var all: Int { gateway + feedback + 2 * handshakes }
}
