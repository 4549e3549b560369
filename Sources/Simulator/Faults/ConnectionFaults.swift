import APNS
import BinaryServer
import NIOCore
import NIOSSL

/// The faults that come over one connection. All its dice are thrown from the seed and
/// its number, so that what other connections do changes nothing.
final class ConnectionFaults {
  /// What follows a rejection.
  struct RejectionAnswer {
    /// Until the packet leaves, or the end comes where there is none.
    var delay: TimeAmount
    var packet: ErrorPacket?
    var pause: TimeAmount
    var ending: Faults.Ending
    var isJoined: Bool
  }

  /// What comes over a connection once a notification was accepted.
  enum ScheduledEnd { case shutdown, cut }

  /// Which protocol comes over a connection.
  enum Service { case binary, http2 }

  private let faultsInForce: FaultsInForce
  private let number: Int
  private let service: Service
  private(set) var generation = -1
  private var generator = SplitMix64(seed: 0)
  private var counts: RunCounts?

  /// At rest where this connection is spared.
  private(set) var faults = Faults()
  private(set) var tls: NIOSSLContext
  /// In its place, where session tickets are to come right behind the handshake.
  private(set) var tickets: OpenSSLServerContext?
  private(set) var isJudging = false
  /// In bytes of the client's, counted from the handshake or the last change.
  private(set) var stallAfter: Int?
  /// nil is for good.
  private(set) var stallTime: TimeAmount?
  private(set) var cutAfterBytes: Int?
  private(set) var handshakeDelay: TimeAmount?
  /// The handshake is through.
  var isConnected = false

  // Counted since the faults in force came.
  private var judged = 0
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

  /// Takes over what was ordered meanwhile.
  func refresh() {
    if faultsInForce.generation == generation { return }
    let snapshot = faultsInForce.current
    generation = snapshot.generation
    generator = SplitMix64(
      seed: SplitMix64.mix(faultsInForce.seed) ^ UInt64(truncatingIfNeeded: number)
        &* 0x9e37_79b9_7f4a_7c15
    )
    choose(snapshot)
    isJudging = faults.isJudging
    // Drawn whether or not they are used: one fault more shall not change the others.
    stallAfter = draw(faults.stallAfter)
    stallTime = draw(faults.stallTime).map(Self.milliseconds)
    cutAfterBytes = draw(faults.cutAfterBytes)
    handshakeDelay = draw(faults.handshakeDelay).map(Self.milliseconds)
    let cut = draw(faults.cutAfter).map { (limit: $0, end: ScheduledEnd.cut) }
    let shutdown = draw(faults.shutdownAfter).map { (limit: $0, end: ScheduledEnd.shutdown) }
    let goaway = draw(faults.goawayAfter).map { (limit: $0, end: ScheduledEnd.shutdown) }
    next = [service == .http2 ? goaway : shutdown, cut].compactMap { $0 }.min {
      $0.limit < $1.limit
    }
    judged = 0
    resets = 0
    accepted = 0
  }

  /// The first rule that takes this connection in.
  private func choose(_ snapshot: FaultsInForce.Snapshot) {
    faults = Faults()
    take(snapshot.sparedTLS)
    counts = nil
    for (index, rule) in snapshot.rules.all.enumerated() {
      let isMeant = rule.connections?.contains(number) ?? true
      guard generator.happens(rule.connectionShare), isMeant else { continue }
      faults = rule
      take(snapshot.tls[index])
      counts = snapshot.counts[index]
      return
    }
  }

  private func take(_ contexts: FaultsInForce.Contexts) {
    tls = contexts.context(for: service)
    tickets = service == .binary ? contexts.tickets : nil
  }

  /// Whether a fault that strikes only so often may do so once more.
  func mayStrike() -> Bool { counts?.strike() ?? true }

  /// The byte where it ends or stalls is passed over: it has struck often enough.
  func spareBytes() {
    stallAfter = nil
    cutAfterBytes = nil
  }

  /// What comes now that one more was accepted; nil where nothing does.
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

  /// The status that answers a notification which is well formed; nil where it is accepted.
  func badStatus(_ token: UnsafeRawBufferPointer) -> UInt8? {
    judge(token) ? drawn(faults.badStatuses) : nil
  }

  /// The same in the words of HTTP/2.
  func badReason(_ token: UnsafeRawBufferPointer) -> PushReason? {
    judge(token) ? drawn(faults.badReasons) : nil
  }

  /// True where the next good one is answered by RST_STREAM.
  func isReset() -> Bool {
    resets += 1
    if let every = faults.resetEvery, resets % every == 0 { return true }
    return faults.resetShare > 0 && generator.happens(faults.resetShare)
  }

  /// True where one that is accepted is not answered.
  func isUnanswered() -> Bool { faults.noAnswer > 0 && generator.happens(faults.noAnswer) }

  func answerDelay() -> TimeAmount {
    faults.answerDelay == nil ? .zero : Self.milliseconds(draw(faults.answerDelay) ?? 0)
  }

  /// Of a generator of its own: what is made shall not change what is drawn.
  func identifiers() -> SplitMix64 {
    SplitMix64(seed: SplitMix64.mix(faultsInForce.seed &+ 1) ^ UInt64(truncatingIfNeeded: number))
  }

  private func drawn<Choice>(_ choices: [Choice]) -> Choice? {
    choices.count == 1 ? choices[0] : choices.randomElement(using: &generator)
  }

  /// Counts one more; true where it is bad.
  private func judge(_ token: UnsafeRawBufferPointer) -> Bool {
    judged = faults.counting == .run ? counts?.judge() ?? 0 : judged + 1
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
        ? .zero : pause.map(Self.milliseconds) ?? (packet == nil ? .zero : GentleClose.pause),
      ending: faults.ending, isJoined: faults.oneSegment)
  }

  private func isBad(_ token: UnsafeRawBufferPointer) -> Bool {
    if let every = faults.badEvery, judged % every == 0 { return true }
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
