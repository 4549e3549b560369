import NIOConcurrencyHelpers
import NIOSSL

/// Where the faults in force are kept; they may change while connections are open.
package final class FaultDesk: Sendable {
  struct Orders {
    var faults: Faults
    var tls: NIOSSLContext
    /// Goes up with every change.
    var generation = 0
  }

  package let seed: UInt64
  private let certificates: CertificateDirectory
  private let bounds: (min: TLSBound, max: TLSBound)
  private let orders: NIOLockedValueBox<Orders>

  init(
    _ faults: Faults, seed: UInt64, certificates: CertificateDirectory,
    bounds: (min: TLSBound, max: TLSBound)
  ) throws {
    self.seed = seed
    self.certificates = certificates
    self.bounds = bounds
    let tls = try Self.context(faults, certificates, bounds)
    orders = NIOLockedValueBox(Orders(faults: faults, tls: tls))
  }

  package var faults: Faults { orders.withLockedValue { $0.faults } }

  var inForce: Orders { orders.withLockedValue { $0 } }

  /// As long as it is the same, so are the faults.
  var generation: Int { orders.withLockedValue { $0.generation } }

  func set(_ faults: Faults) throws {
    let tls = try Self.context(faults, certificates, bounds)
    orders.withLockedValue {
      $0 = Orders(faults: faults, tls: tls, generation: $0.generation + 1)
    }
  }

  private static func context(
    _ faults: Faults, _ certificates: CertificateDirectory, _ bounds: (min: TLSBound, max: TLSBound)
  ) throws -> NIOSSLContext {
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
