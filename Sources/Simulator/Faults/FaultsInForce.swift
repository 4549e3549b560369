import BinaryServer
import JSON
import NIOConcurrencyHelpers

/// The faults in force. They may change while connections are open.
package final class FaultsInForce: Sendable {
  /// TLS contexts of the same versions for both protocols.
  struct Contexts: Sendable {
    var binary: OpenSSLServerContext
    var http2: OpenSSLServerContext

    func context(for service: ConnectionFaults.Service) -> OpenSSLServerContext {
      service.isHTTP2 ? http2 : binary
    }
  }

  struct Snapshot: Sendable {
    var rules: FaultRules
    /// One for each rule.
    var tls: [Contexts]
    /// One for each rule.
    var counts: [RunCounts]
    /// For connections that match no rule.
    var sparedTLS: Contexts
    /// Incremented by every change.
    var generation = 0
  }

  package let seed: UInt64
  private let certificates: CertificateDirectory
  private let bounds: (min: TLSBound, max: TLSBound)
  /// All binary connections send session tickets.
  private let sendsTickets: Bool
  private let state: NIOLockedValueBox<Snapshot>

  init(
    _ rules: FaultRules, seed: UInt64, certificates: CertificateDirectory,
    bounds: (min: TLSBound, max: TLSBound), sendsTickets: Bool = false, sparedTLS: Contexts
  ) throws {
    self.seed = seed
    self.certificates = certificates
    self.bounds = bounds
    self.sendsTickets = sendsTickets
    state = NIOLockedValueBox(
      Snapshot(
        rules: rules,
        tls: try Self.contexts(rules, certificates, bounds, sparedTLS, sendsTickets),
        counts: rules.all.map(RunCounts.init), sparedTLS: sparedTLS))
  }

  package var rules: FaultRules { current.rules }

  var current: Snapshot { state.withLockedValue { $0 } }

  /// Changes whenever the faults do.
  var generation: Int { state.withLockedValue { $0.generation } }

  func set(_ rules: FaultRules) throws {
    let tls = try Self.contexts(rules, certificates, bounds, current.sparedTLS, sendsTickets)
    state.withLockedValue {
      $0.rules = rules
      $0.tls = tls
      $0.counts = rules.all.map(RunCounts.init)
      $0.generation += 1
    }
  }

  private static func contexts(
    _ rules: FaultRules, _ certificates: CertificateDirectory,
    _ bounds: (min: TLSBound, max: TLSBound), _ spared: Contexts, _ sendsTickets: Bool
  ) throws -> [Contexts] {
    try rules.all.map { faults in
      if faults.tlsMin == nil, faults.tlsMax == nil, !faults.sessionTickets { return spared }
      let high =
        faults.sessionTickets
        ? .tls1_3 : faults.tlsMax ?? max(bounds.max, faults.tlsMin ?? bounds.min)
      let low = faults.tlsMin ?? min(bounds.min, high)
      if low > high {
        throw JSONError("tls_min \(low.rawValue) is above tls_max \(high.rawValue)", at: 0)
      }
      let binary = try certificates.context(
        min: low, max: high, sendsTickets: faults.sessionTickets || sendsTickets)
      return Contexts(
        binary: binary,
        http2: try certificates.http2Context(
          min: faults.tlsMin ?? min(.tls1_2, high), max: faults.tlsMax ?? .tls1_3))
    }
  }
}

extension FaultsInForce.Contexts {
  /// For connections without faults.
  init(
    _ certificates: CertificateDirectory, _ bounds: (min: TLSBound, max: TLSBound),
    sendsTickets: Bool
  ) throws {
    binary = try certificates.context(
      min: bounds.min, max: bounds.max, sendsTickets: sendsTickets)
    // Apple's gateway demands at least 1.2.
    http2 = try certificates.http2Context(min: max(bounds.min, .tls1_2), max: .tls1_3)
  }
}
