import Dashboard
import JSON
import Logging
import Simulator

/// What the options ask for.
extension SimulatorOptions {
  func configuration(_ logger: Logger) throws -> SimulatedGateway.Configuration {
    var configuration = SimulatedGateway.Configuration(
      certificates: CertificateDirectory(certificates))
    configuration.host = Self.bare(host)
    configuration.gatewayPort = gatewayPort.map(Int.init)
    configuration.feedbackPort = feedbackPort.map(Int.init)
    configuration.http2Port = Int(http2Port)
    configuration.channelsPort = channelsPort.map(Int.init)
    configuration.channelsMax = channelsMax
    configuration.appsWithoutBroadcasts = noBroadcasts
    configuration.isSandbox = environment.map { $0 == .sandbox } ?? (like != .production)
    if let subscriptions {
      configuration.subscriptions = try Exit.refusing("--subscriptions") {
        try ListFile.subscriptions(at: subscriptions)
      }
    }
    for key in providerKey {
      configuration.providerKeys.append(
        try Exit.refusing("--provider-key") { try ProviderKey(option: key) })
    }
    configuration.tlsMin = tlsMin
    configuration.tlsMax = sessionTickets ? .tls1_3 : tlsMax
    configuration.sendsTickets = sessionTickets
    configuration.seed = seed
    configuration.controlPort = controlPort.map(Int.init)
    configuration.controlKeeps = controlKeeps
    configuration.worldsMax = worldsMax
    if dashboardPort != nil { configuration.recentPushes = RecentPushes(keeps: dashboardKeeps) }
    configuration.rules.checksPayloads = checkPayload
    if !topics.isEmpty { configuration.rules.topic = topics == ["any"] ? .any : .only(topics) }
    if !teamTopic.isEmpty { configuration.rules.teamTopics = Self.parts(teamTopic) }
    configuration.faults = try faults()
    if let replay {
      let recording = try Exit.refusing("--replay") { try Recording(at: replay) }
      configuration.replay = Replay(recording, speed: speed ?? 1)
    }
    if let ledger {
      configuration.ledger = try Exit.refusing("--ledger") {
        try RecordFile(path: ledger, logger: logger)
      }
    }
    configuration.rules.frames.tokenSizes = tokenSize.range
    configuration.rules.frames.legacyPayloadMax = legacyPayloadMax.rawValue
    configuration.rules.frames.framedPayloadMax = framedPayloadMax.rawValue
    if let badTokens {
      configuration.rules.frames.badTokens = try Exit.refusing("--bad-tokens") {
        try ListFile.tokens(at: badTokens)
      }
    }
    if let feedback {
      configuration.feedback = try Exit.refusing("--feedback") {
        try ListFile.feedback(at: feedback)
      }
    }
    if let accepted {
      configuration.record = try Exit.refusing("--accepted") {
        try RecordFile(path: accepted, logger: logger)
      }
    }
    return configuration
  }

  /// Reads the file first, so that the command line can change its faults.
  private func faults() throws -> FaultRules {
    var faults = FaultRules()
    if let rules { faults = try Exit.refusing("--rules") { try FaultRules(at: rules) } }
    for option in (like?.faults ?? []) + fault {
      do throws(JSONError) {
        try faults.adopt(option: option)
      } catch {
        throw Exit.refusal("--fault \(option): \(error.message)")
      }
    }
    return faults
  }

  func languages() throws -> Languages {
    var languages = Languages()
    for folder in lproj { try Exit.refusing("--lproj") { try languages.add(folder) } }
    return languages
  }

  /// An IPv6 address may have brackets, as before a port.
  static func bare(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }
}
