import BinaryServer
import Dashboard
import JSON
import Logging
import Simulator

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
    configuration.subscriptions =
      try read(subscriptions, "--subscriptions", ListFile.subscriptions) ?? []
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
    configuration.replay = try read(replay, "--replay", Recording.init(at:))
      .map { Replay($0, speed: speed ?? 1) }
    configuration.ledger = try read(ledger, "--ledger") { try RecordFile(path: $0, logger: logger) }
    configuration.rules.frames.tokenSizes = tokenSize.range
    configuration.rules.frames.legacyPayloadMax = legacyPayloadMax.rawValue
    configuration.rules.frames.framedPayloadMax = framedPayloadMax.rawValue
    configuration.rules.frames.badTokens =
      try read(badTokens, "--bad-tokens", ListFile.tokens) ?? TokenSet()
    configuration.feedback = try read(feedback, "--feedback", ListFile.feedback) ?? []
    configuration.record = try read(accepted, "--accepted") {
      try RecordFile(path: $0, logger: logger)
    }
    return configuration
  }

  /// nil if the option was not given.
  private func read<Value>(
    _ path: String?, _ option: String, _ read: (String) throws -> Value
  ) throws -> Value? {
    try path.map { path in try Exit.refusing(option) { try read(path) } }
  }

  /// Reads the file first, so that the command line can change its faults.
  private func faults() throws -> FaultRules {
    var faults = try read(rules, "--rules", FaultRules.init(at:)) ?? FaultRules()
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
