import NIOConcurrencyHelpers
import NIOSSL

/// Where the faults in force are kept; they may change while connections are open.
package final class FaultDesk: Sendable {
  /// Of the same versions, for either protocol.
  struct Contexts: Sendable {
    var binary: NIOSSLContext
    /// The same as the other where nobody speaks HTTP/2.
    var http2: NIOSSLContext
    /// Of the binary one, where session tickets are to come right behind the handshake.
    var tickets: TicketTLSContext?

    func context(for service: ConnectionFaults.Service) -> NIOSSLContext {
      service == .http2 ? http2 : binary
    }
  }

  struct Orders: Sendable {
    var rules: FaultRules
    /// Of each rule.
    var tls: [Contexts]
    /// Of each rule.
    var counts: [RunCounts]
    /// For connections that no rule takes in.
    var sparedTLS: Contexts
    /// Goes up with every change.
    var generation = 0
  }

  package let seed: UInt64
  private let certificates: CertificateDirectory
  private let bounds: (min: TLSBound, max: TLSBound)
  private let speaksHTTP2: Bool
  /// Session tickets come over all connections.
  private let sendsTickets: Bool
  private let orders: NIOLockedValueBox<Orders>

  init(
    _ rules: FaultRules, seed: UInt64, certificates: CertificateDirectory,
    bounds: (min: TLSBound, max: TLSBound), speaksHTTP2: Bool = false, sendsTickets: Bool = false
  ) throws {
    self.seed = seed
    self.certificates = certificates
    self.bounds = bounds
    self.speaksHTTP2 = speaksHTTP2
    self.sendsTickets = sendsTickets
    let binary = try GatewayTLS.context(certificates, min: bounds.min, max: bounds.max)
    let spared = Contexts(
      binary: binary,
      http2: speaksHTTP2
        // Apple's asks for 1.2 at least, and session tickets harm nobody here.
        ? try GatewayTLS.context(
          certificates, min: max(bounds.min, .tls1_2), max: .tls1_3, service: .http2) : binary,
      tickets: sendsTickets
        ? try TicketTLSContext(certificates, min: bounds.min, max: bounds.max) : nil)
    orders = NIOLockedValueBox(
      Orders(
        rules: rules,
        tls: try Self.contexts(rules, certificates, bounds, spared, speaksHTTP2, sendsTickets),
        counts: rules.all.map(RunCounts.init), sparedTLS: spared))
  }

  package var rules: FaultRules { inForce.rules }

  var inForce: Orders { orders.withLockedValue { $0 } }

  /// As long as it is the same, so are the faults.
  var generation: Int { orders.withLockedValue { $0.generation } }

  func set(_ rules: FaultRules) throws {
    let tls = try Self.contexts(
      rules, certificates, bounds, inForce.sparedTLS, speaksHTTP2, sendsTickets)
    let counts = rules.all.map(RunCounts.init)
    orders.withLockedValue {
      $0.rules = rules
      $0.tls = tls
      $0.counts = counts
      $0.generation += 1
    }
  }

  private static func contexts(
    _ rules: FaultRules, _ certificates: CertificateDirectory,
    _ bounds: (min: TLSBound, max: TLSBound), _ spared: Contexts, _ speaksHTTP2: Bool,
    _ sendsTickets: Bool
  ) throws -> [Contexts] {
    try rules.all.map { faults in
      if faults.tlsMin == nil, faults.tlsMax == nil, !faults.sessionTickets { return spared }
      let high =
        faults.sessionTickets
        ? .tls1_3 : faults.tlsMax ?? max(bounds.max, faults.tlsMin ?? bounds.min)
      let low = faults.tlsMin ?? min(bounds.min, high)
      if low > high {
        throw JSONFault("tls_min \(low.rawValue) is above tls_max \(high.rawValue)", at: 0)
      }
      let binary = try GatewayTLS.context(certificates, min: low, max: high)
      return Contexts(
        binary: binary,
        http2: speaksHTTP2
          ? try GatewayTLS.context(
            certificates, min: faults.tlsMin ?? min(.tls1_2, high),
            max: faults.tlsMax ?? .tls1_3, service: .http2) : binary,
        tickets: faults.sessionTickets || sendsTickets
          ? try TicketTLSContext(certificates, min: low, max: high) : nil)
    }
  }
}
