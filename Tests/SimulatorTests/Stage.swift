import BinaryServer
import Foundation
import Logging
import Simulator
import Testing

/// A simulator on free ports with a record of its own.
struct Stage {
  let simulator: SimulatedGateway
  let directory: CertificateDirectory
  let record: String

  /// RSA keys take their time: one set serves all tests.
  static let certificates = CertificateDirectory(temporaryPath())

  static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  static func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID())").path
  }

  /// Runs `act` and hands over what the simulator counted and recorded.
  @discardableResult
  static func run(
    _ arrange: (inout SimulatedGateway.Configuration) -> Void = { _ in },
    _ act: (Stage) async throws -> Void
  ) async throws -> (totals: Totals, accepted: [[String: Any]]) {
    var configuration = SimulatedGateway.Configuration(certificates: certificates)
    configuration.gatewayPort = 0
    configuration.feedbackPort = 0
    let record = temporaryPath()
    configuration.record = try RecordFile(path: record, logger: silent)
    defer { try? FileManager.default.removeItem(atPath: record) }
    arrange(&configuration)
    let simulator = try await SimulatedGateway.start(configuration, logger: silent)
    do {
      try await act(
        Stage(simulator: simulator, directory: configuration.certificates, record: record))
    } catch {
      _ = await simulator.stop()
      throw error
    }
    let totals = await simulator.stop()
    let lines = try String(contentsOfFile: record, encoding: .utf8)
      .split(separator: "\n")
      .map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:] }
    return (totals, lines)
  }

  func provider(
    _ certificate: Provider.Certificate = .own, serverName: String? = nil
  ) async throws -> Provider {
    try await Provider(
      port: simulator.gatewayPort, directory, certificate: certificate, serverName: serverName)
  }

  func feedbackReader() async throws -> Provider {
    try await Provider(port: simulator.feedbackPort, directory)
  }
}
