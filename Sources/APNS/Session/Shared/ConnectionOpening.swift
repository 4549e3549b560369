/// Opens a connection, with the required pauses in between.
extension Reconnects {
  /// A connection that ends sooner without having been productive is a bad sign.
  static var shortLife: Nanoseconds { 1_000_000_000 }

  /// Opens a connection as far as possible without waiting; false: it is not open yet.
  @inline(never)
  mutating func open<Net: Network & ~Copyable>(
    _ connection: inout SessionLink, on network: inout Net, within timeout: Nanoseconds
  ) throws(Failure) -> Bool {
    do throws(Failure) {
      if connection.phase == .closed {
        let now = network.now
        if now < earliest {
          log?.at(now).pausing(&self, until: earliest, from: now)
          return false
        }
        try network.open(connection.number, isStandby: false, by: now &+ timeout)
        opened(&connection, at: network.now)
        connection.phase = .opening
        log?.at(network.now).connecting(connection, isStandby: false, on: network)
      }
      switch try network.advance(connection.number) {
      case .open:
        connection.phase = .open
        log?.at(network.now).connected(connection, isStandby: false, on: network)
        let now = network.now
        connection.openingTime = now &- connection.openedAt
        connection.openedAt = now
        return true
      case .waits(let readiness, let time):
        connection.opening = (readiness, time)
        return false
      }
    } catch {
      connection.close(on: &network)
      log?.at(network.now).refused(connection, isStandby: false, error)
      ended(error, otherwise: "")
      achievedNothing(on: &network)
      throw error
    }
  }

  /// A connection was lost. That is a bad sign if it left something in doubt, or ended soon.
  @inline(never)
  mutating func lost<Net: Network & ~Copyable>(
    _ connection: SessionLink, inDoubt: Bool, on network: inout Net
  ) {
    if inDoubt || network.now &- connection.openedAt < Self.shortLife {
      achievedNothing(on: &network)
    }
  }

  @inline(never)
  mutating func achievedNothing<Net: Network & ~Copyable>(on network: inout Net) {
    let random = network.random()
    achievedNothing(at: network.now, random: random)
  }
}
