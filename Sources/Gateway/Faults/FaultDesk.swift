import NIOConcurrencyHelpers
import NIOSSL

/// Where the faults in force are kept; they may change while connections are open.
package final class FaultDesk: Sendable {
  struct Orders: Sendable {
    var rules: FaultRules
    /// Of each rule.
    var tls: [NIOSSLContext]
    /// Of each rule.
    var counts: [RunCounts]
    /// For connections that no rule takes in.
    var sparedTLS: NIOSSLContext
    /// Goes up with every change.
    var generation = 0
  }

  package let seed: UInt64
  private let certificates: CertificateDirectory
  private let bounds: (min: TLSBound, max: TLSBound)
  private let orders: NIOLockedValueBox<Orders>

  init(
    _ rules: FaultRules, seed: UInt64, certificates: CertificateDirectory,
    bounds: (min: TLSBound, max: TLSBound)
  ) throws {
    self.seed = seed
    self.certificates = certificates
    self.bounds = bounds
    let spared = try GatewayTLS.context(certificates, min: bounds.min, max: bounds.max)
    orders = NIOLockedValueBox(
      Orders(
        rules: rules, tls: try Self.contexts(rules, certificates, bounds, spared),
        counts: rules.all.map(RunCounts.init), sparedTLS: spared))
  }

  package var rules: FaultRules { inForce.rules }

  var inForce: Orders { orders.withLockedValue { $0 } }

  /// As long as it is the same, so are the faults.
  var generation: Int { orders.withLockedValue { $0.generation } }

  func set(_ rules: FaultRules) throws {
    let tls = try Self.contexts(rules, certificates, bounds, inForce.sparedTLS)
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
    _ bounds: (min: TLSBound, max: TLSBound), _ spared: NIOSSLContext
  ) throws -> [NIOSSLContext] {
    try rules.all.map { faults in
      if faults.tlsMin == nil, faults.tlsMax == nil, !faults.sessionTickets { return spared }
      let high =
        faults.sessionTickets
        ? .tls1_3 : faults.tlsMax ?? max(bounds.max, faults.tlsMin ?? bounds.min)
      let low = faults.tlsMin ?? min(bounds.min, high)
      if low > high {
        throw JSONFault("tls_min \(low.rawValue) is above tls_max \(high.rawValue)", at: 0)
      }
      return try GatewayTLS.context(certificates, min: low, max: high)
    }
  }
}
