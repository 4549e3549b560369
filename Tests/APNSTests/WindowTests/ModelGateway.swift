@testable import APNS

/// A gateway in memory. It reads a connection's bytes, accepts and rejects by a rule that depends
/// only on the notification, and records its actions.
struct ModelGateway {
  /// How often it accepted each notification, by number.
  private(set) var accepted: [Int: Int] = [:]
  private(set) var rejected: Set<Int> = []
  /// The packet it has sent on the current connection. After it the gateway only discards.
  private(set) var packet: ErrorPacket?
  /// The last identifier accepted on the current connection.
  private(set) var lastAccepted: UInt32?
  /// The numbers that arrived on the current connection, in order, and those that arrived
  /// completely on any connection.
  private(set) var heard: [Int] = []
  private(set) var arrived: Set<Int> = []
  private var stream: [UInt8] = []

  /// The current frame is incomplete.
  var isMidFrame: Bool { !stream.isEmpty }

  static func isBad(_ number: Int) -> Bool { number % 13 == 5 }

  /// A token that names its notification.
  static func token(_ number: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } + [1]
  }

  private static func number(_ token: UnsafeRawBufferPointer) -> Int {
    (0..<8).reduce(0) { $0 | Int(token[$1]) << ($1 * 8) }
  }

  mutating func connectionBegins() {
    (packet, lastAccepted, stream, heard) = (nil, nil, [], [])
  }

  /// Reads bytes; `sentinelStatus` and `sentinelByName` choose the answer to a frame without a
  /// token.
  mutating func receive(
    _ bytes: UnsafeRawBufferPointer, sentinelStatus: UInt8, sentinelByName: Bool
  ) {
    stream.append(contentsOf: bytes)
    var taken = 0
    stream.withUnsafeBytes { all in
      while taken < all.count {
        let rest = UnsafeRawBufferPointer(rebasing: all[taken...])
        do throws(WireError) {
          guard let frame = try FrameDecoder.decode(rest) else { return }
          taken += frame.length
          validate(Self.number(frame.notification.token), frame.notification.identifier ?? 0)
        } catch {
          // This is a sentinel, because all other frames here are valid.
          taken += 5 + rest[1..<5].reduce(0) { $0 << 8 | Int($1) }
          if packet == nil {
            packet = ErrorPacket(
              status: sentinelStatus, identifier: sentinelByName ? error.identifier ?? 0 : 0)
          }
        }
      }
    }
    stream.removeFirst(taken)
  }

  private mutating func validate(_ number: Int, _ identifier: UInt32) {
    arrived.insert(number)
    // Everything after an invalid frame is discarded.
    guard packet == nil else { return }
    heard.append(number)
    if Self.isBad(number) {
      rejected.insert(number)
      packet = ErrorPacket(status: 8, identifier: identifier)
    } else {
      accepted[number, default: 0] += 1
      lastAccepted = identifier
    }
  }

  /// The gateway shuts down. Its packet names the last notification it accepted on this connection.
  mutating func shutDown() -> ErrorPacket? {
    guard packet == nil, let lastAccepted else { return nil }
    packet = ErrorPacket(status: ErrorPacket.shutdown, identifier: lastAccepted)
    return packet
  }
}
