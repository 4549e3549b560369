import APNS
import BinaryServer
import NIOCore

/// The faults of one connection. Its random numbers depend on the seed and its number only, not on
/// other connections.
final class ConnectionFaults {
  /// The answer to a rejected notification.
  struct RejectionAnswer {
    /// The time before the packet is sent, or before the connection closes without one.
    var delay: TimeAmount
    var packet: ErrorPacket?
    var pause: TimeAmount
    var ending: Faults.Ending
    var isJoined: Bool
  }

  /// Why a connection ends after an accepted notification.
  enum ScheduledEnd { case shutdown, cut }

  /// The port of a connection.
  enum Service: String, Sendable {
    case binary, http2
    /// HTTP/2 for channel management.
    case channels

    var isHTTP2: Bool { self != .binary }
  }

  private let faultsInForce: FaultsInForce
  private let number: Int
  private let service: Service
  private(set) var generation = -1
  private var generator = SplitMix64(seed: 0)
  private var counts: RunCounts?

  /// No faults if this connection is spared.
  private(set) var faults = Faults()
  private(set) var tls: OpenSSLServerContext
  private(set) var mayReject = false
  /// Counts the client's bytes since the handshake or the last change of faults.
  private(set) var stallAfter: Int?
  /// nil stalls forever.
  private(set) var stallTime: TimeAmount?
  private(set) var cutAfterBytes: Int?
  private(set) var handshakeDelay: TimeAmount?
  /// The age at which the connection gets GOAWAY.
  private(set) var goawayAge: TimeAmount?
  /// The handshake is done.
  var isConnected = false

  // Counted since the faults last changed.
  private var counted = 0
  private var resets = 0
  private var accepted = 0
  private var next: (limit: Int, end: ScheduledEnd)?

  init(faultsInForce: FaultsInForce, number: Int, service: Service = .binary) {
    self.faultsInForce = faultsInForce
    self.number = number
    self.service = service
    tls = faultsInForce.current.sparedTLS.context(for: service)
    refresh()
  }

  /// Adopts changed faults.
  func refresh() {
    if faultsInForce.generation == generation { return }
    let snapshot = faultsInForce.current
    generation = snapshot.generation
    generator = SplitMix64(
      seed: SplitMix64.mix(faultsInForce.seed) ^ UInt64(truncatingIfNeeded: number)
        &* 0x9e37_79b9_7f4a_7c15
    )
    choose(snapshot)
    mayReject = faults.mayReject
    // Drawn even if unused, so that one fault does not change the random numbers of the others.
    stallAfter = draw(faults.stallAfter)
    stallTime = draw(faults.stallTime).map(Self.milliseconds)
    cutAfterBytes = draw(faults.cutAfterBytes)
    handshakeDelay = draw(faults.handshakeDelay).map(Self.milliseconds)
    let cut = draw(faults.cutAfter).map { (limit: $0, end: ScheduledEnd.cut) }
    let shutdown = draw(faults.shutdownAfter).map { (limit: $0, end: ScheduledEnd.shutdown) }
    let goaway = draw(faults.goawayAfter).map { (limit: $0, end: ScheduledEnd.shutdown) }
    next = [service.isHTTP2 ? goaway : shutdown, cut].compactMap { $0 }.min {
      $0.limit < $1.limit
    }
    goawayAge = faults.goawayAge.map(age)
    counted = 0
    resets = 0
    accepted = 0
  }

  /// Takes the first rule that matches this connection.
  private func choose(_ snapshot: FaultsInForce.Snapshot) {
    faults = Faults()
    tls = snapshot.sparedTLS.context(for: service)
    counts = nil
    for (index, rule) in snapshot.rules.all.enumerated() {
      let isMeant =
        (rule.connections?.contains(number) ?? true)
        && (rule.services == .all || (rule.services == .channels) == (service == .channels))
      guard generator.happens(rule.connectionShare), isMeant else { continue }
      faults = rule
      tls = snapshot.tls[index].context(for: service)
      counts = snapshot.counts[index]
      return
    }
  }

  /// False if the fault has happened as often as `times` allows.
  func mayStrike() -> Bool { counts?.strike() ?? true }

  /// Disables closing and stalling at a byte: `times` is used up.
  func spareBytes() {
    stallAfter = nil
    cutAfterBytes = nil
  }

  /// Counts one more accepted notification. nil if the connection stays open.
  @inline(__always)
  func endAfterAcceptance() -> ScheduledEnd? { next == nil ? nil : count() }

  private func count() -> ScheduledEnd? {
    guard let next else { return nil }
    if faults.counting == .run {
      guard counts?.accept(next.limit) == true else { return nil }
    } else {
      accepted += 1
      if accepted < next.limit { return nil }
      accepted = 0
    }
    return mayStrike() ? next.end : nil
  }

  /// The status that answers a well-formed notification; nil accepts it.
  func badStatus(_ token: UnsafeRawBufferPointer) -> UInt8? {
    countAndCheck(token) ? drawn(faults.badStatuses) : nil
  }

  /// The reason that rejects a well-formed push over HTTP/2; nil accepts it.
  func badReason(_ token: UnsafeRawBufferPointer) -> PushReason? {
    countAndCheck(token) ? drawn(faults.badReasons) : nil
  }

  /// True if the next good push is answered by RST_STREAM.
  func isReset() -> Bool {
    resets += 1
    if let every = faults.resetEvery, resets % every == 0 { return true }
    return faults.resetShare > 0 && generator.happens(faults.resetShare)
  }

  /// True if an accepted push gets no response.
  func dropsResponse() -> Bool { faults.noAnswer > 0 && generator.happens(faults.noAnswer) }

  /// How many ms after it was found gone pushes to the device are still accepted.
  func goneDelay(of token: [UInt8]) -> Int64 {
    guard let range = faults.goneDelay else { return 0 }
    let lot = SplitMix64.mix(token.withUnsafeBytes(TokenSet.hash) ^ faultsInForce.seed)
    return Int64(range.lowerBound + Int(lot % UInt64(range.count))) * 1000
  }

  func answerDelay() -> TimeAmount {
    faults.answerDelay == nil ? .zero : Self.milliseconds(draw(faults.answerDelay) ?? 0)
  }

  /// Separate generators: making identifiers must not change other random numbers.
  func identifiers(_ kind: IdentifierKind) -> SplitMix64 {
    SplitMix64(
      seed: SplitMix64.mix(faultsInForce.seed &+ kind.rawValue)
        ^ UInt64(truncatingIfNeeded: number))
  }

  enum IdentifierKind: UInt64 { case request = 1, unique = 2, age = 3 }

  /// A later time than 136 years would be too many nanoseconds.
  private func age(in range: ClosedRange<Int>) -> TimeAmount {
    var generator = identifiers(.age)
    let drawn = range.lowerBound + Int(generator.next() % UInt64(range.count))
    return .seconds(Int64(min(drawn, Int(UInt32.max))))
  }

  private func drawn<Choice>(_ choices: [Choice]) -> Choice? {
    choices.count == 1 ? choices[0] : choices.randomElement(using: &generator)
  }

  /// Counts one more notification; true if it is bad.
  private func countAndCheck(_ token: UnsafeRawBufferPointer) -> Bool {
    counted = faults.counting == .connection ? counted + 1 : counts?.count() ?? 0
    return isBad(token)
  }

  func answer(of packet: ErrorPacket?) -> RejectionAnswer {
    let delay = draw(faults.errorDelay) ?? 0
    let isSilent = generator.happens(faults.noPacket)
    let isNameless = generator.happens(faults.identifierZero)
    let pause = draw(faults.closeDelay)
    var packet = isSilent ? nil : packet
    if isNameless { packet?.identifier = 0 }
    return RejectionAnswer(
      delay: Self.milliseconds(delay), packet: packet,
      pause: faults.oneSegment
        ? .zero : pause.map(Self.milliseconds) ?? (packet == nil ? .zero : GracefulClose.pause),
      ending: faults.ending, isJoined: faults.oneSegment)
  }

  private func isBad(_ token: UnsafeRawBufferPointer) -> Bool {
    if let every = faults.badEvery, counted % every == 0 { return true }
    if faults.badTokenSet.contains(token) { return true }
    if faults.badPrefixes.contains(where: { token.starts(with: $0) }) { return true }
    guard faults.badShare > 0 else { return false }
    let lot = SplitMix64.mix(TokenSet.hash(token) ^ faultsInForce.seed)
    return SplitMix64.fraction(lot) < faults.badShare
  }

  private func draw(_ range: ClosedRange<Int>?) -> Int? {
    let drawn = generator.next()
    guard let range else { return nil }
    return range.lowerBound + Int(drawn % UInt64(range.upperBound - range.lowerBound + 1))
  }

  private static func milliseconds(_ count: Int) -> TimeAmount { .milliseconds(Int64(count)) }
}
