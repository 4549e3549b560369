import Synchronization

/// How much of a request's body is read.
struct BodyLimit {
  var bytes: Int
  /// The response to a longer body.
  var excess: ListenerResponse
  /// Whether it needs a share of the listener's room.
  var needsRoom = false

  init(_ bytes: Int, excess: ListenerResponse? = nil, needsRoom: Bool = false) {
    self.bytes = bytes
    self.excess =
      excess ?? .refusal(413, "PayloadTooLarge", "the body has more than \(bytes) bytes")
    self.needsRoom = needsRoom
  }

  /// More than APNs accepts in any payload, so that an oversized payload is reported as such.
  static let ofPush = Self(16 * 1024)
  static let ofBatch = Self(EntryBatch.longestBody, needsRoom: true)
}

/// The memory for the bodies of batches, which all connections of a listener share.
final class BodyRoom: Sendable {
  private static let bytes = 32 << 20
  private let used = Mutex(0)

  /// A body's share. It ends with the object.
  final class Share: Sendable {
    private let room: BodyRoom
    private let bytes = Mutex(0)

    init(of room: BodyRoom) { self.room = room }

    deinit {
      let bytes = bytes.withLock { $0 }
      room.used.withLock { $0 -= bytes }
    }

    /// False if the room is full.
    func grow(by count: Int) -> Bool {
      let hasGrown = room.used.withLock { used in
        guard used + count <= BodyRoom.bytes else { return false }
        used += count
        return true
      }
      if hasGrown { bytes.withLock { $0 += count } }
      return hasGrown
    }
  }
}
