import APNS
import NIOCore

/// The faults that come over one connection. All its dice are thrown from the seed and
/// its number, so that what other connections do changes nothing.
final class ConnectionFaults {
  /// What follows a rejection.
  struct Aftermath {
    /// Until the packet leaves, or the end comes where there is none.
    var delay: TimeAmount
    var packet: ErrorPacket?
    var pause: TimeAmount
    var ending: Faults.Ending
    var isJoined: Bool
  }

  private let desk: FaultDesk
  private let number: Int
  private var generation = -1
  private var generator = SplitMix64(seed: 0)

  /// At rest where this connection is spared.
  private(set) var faults = Faults()
  private(set) var isJudging = false
  /// In bytes of the client's, counted from the handshake.
  private(set) var stallAfter: Int?
  /// nil is for good.
  private(set) var stallTime: TimeAmount?
  private(set) var cutAfter: Int?
  private(set) var handshakeDelay: TimeAmount?
  /// The handshake is through.
  var isConnected = false
  /// Notifications judged so far.
  private var judged = 0

  init(desk: FaultDesk, number: Int) {
    self.desk = desk
    self.number = number
    refresh()
  }

  /// Takes over what was ordered meanwhile; true where something was.
  @discardableResult
  func refresh() -> Bool {
    if desk.generation == generation { return false }
    let orders = desk.inForce
    generation = orders.generation
    generator = SplitMix64(
      seed: SplitMix64.stir(desk.seed) ^ UInt64(truncatingIfNeeded: number) &* 0x9e37_79b9_7f4a_7c15
    )
    let isMeant = orders.faults.connections?.contains(number) ?? true
    faults = generator.happens(orders.faults.connectionShare) && isMeant ? orders.faults : Faults()
    isJudging = faults.isJudging
    // Drawn whether or not they are used: one fault more shall not change the others.
    stallAfter = draw(faults.stallAfter)
    stallTime = draw(faults.stallTime).map(Self.milliseconds)
    cutAfter = draw(faults.cutAfter)
    handshakeDelay = draw(faults.handshakeDelay).map(Self.milliseconds)
    return true
  }

  /// The status that answers a notification which is well formed; nil where it is accepted.
  func badStatus(_ token: UnsafeRawBufferPointer) -> UInt8? {
    judged += 1
    guard isBad(token) else { return nil }
    let statuses = faults.badStatuses
    return statuses.count == 1 ? statuses[0] : statuses.randomElement(using: &generator)
  }

  func aftermath(of packet: ErrorPacket?) -> Aftermath {
    let delay = draw(faults.errorDelay) ?? 0
    let isSilent = generator.happens(faults.noPacket)
    let isNameless = generator.happens(faults.identifierZero)
    let pause = draw(faults.closeDelay)
    var packet = isSilent ? nil : packet
    if isNameless { packet?.identifier = 0 }
    return Aftermath(
      delay: Self.milliseconds(delay), packet: packet,
      pause: faults.oneSegment
        ? .zero : pause.map(Self.milliseconds) ?? (packet == nil ? .zero : GentleClose.pause),
      ending: faults.ending, isJoined: faults.oneSegment)
  }

  private func isBad(_ token: UnsafeRawBufferPointer) -> Bool {
    if let every = faults.badEvery, judged % every == 0 { return true }
    if faults.badTokenSet.contains(token) { return true }
    if faults.badPrefixes.contains(where: { token.starts(with: $0) }) { return true }
    guard faults.badShare > 0 else { return false }
    let lot = SplitMix64.stir(TokenSet.hash(token) ^ desk.seed)
    return SplitMix64.fraction(lot) < faults.badShare
  }

  private func draw(_ range: ClosedRange<Int>?) -> Int? {
    let drawn = generator.next()
    guard let range else { return nil }
    return range.lowerBound + Int(drawn % UInt64(range.upperBound - range.lowerBound + 1))
  }

  private static func milliseconds(_ count: Int) -> TimeAmount { .milliseconds(Int64(count)) }
}
