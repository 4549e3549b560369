/// Opening the line that is needed, by the pauses that are to lie between connections.
extension Reconnects {
  /// A connection that ends sooner than that without having been of use is no good sign.
  static var shortLife: Int64 { 1_000_000_000 }

  /// Takes a line as far towards being open as it goes without waiting. When it is to be
  /// taken further at the latest; nil: it is open.
  @inline(never)
  mutating func open<Net: Network & ~Copyable>(
    _ line: inout Line, on network: inout Net, within timeout: Int64
  ) throws(Failure) -> Int64? {
    do throws(Failure) {
      if line.use == .closed {
        let now = network.now
        if now < earliest { return earliest }
        try network.open(line.number, isSpare: false, by: now &+ timeout)
        opened(at: network.now)
        line.use = .opening
      }
      switch try network.advance(line.number) {
      case .open:
        line.use = .open
        line.openedAt = network.now
        return nil
      case .waits(let readiness, let time):
        network.watch(line.number, for: readiness)
        return time
      }
    } catch {
      line.close(on: &network)
      achievedNothing(on: &network)
      throw error
    }
  }

  /// A connection was lost, which is no good sign where it left something in doubt, or soon.
  @inline(never)
  mutating func lost<Net: Network & ~Copyable>(
    _ line: Line, leavingDoubt: Bool, on network: inout Net
  ) {
    if leavingDoubt || network.now &- line.openedAt < Self.shortLife {
      achievedNothing(on: &network)
    }
  }

  @inline(never)
  mutating func achievedNothing<Net: Network & ~Copyable>(on network: inout Net) {
    let random = network.random()
    achievedNothing(at: network.now, random: random)
  }
}
