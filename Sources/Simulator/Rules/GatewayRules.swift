import APNS
import BinaryServer

/// Validates notifications, for both protocols.
package struct GatewayRules: Sendable {
  package var frames = FrameRules()
  /// Payloads must be JSON with an object `aps` or a string `mdm`.
  package var checksPayloads = false {
    didSet { frames.payloadFault = checksPayloads ? Self.payloadFault : nil }
  }
  package var topic: TopicRule?
  /// The apps that a provider token may push to; nil for all.
  package var teamTopics: [String]?

  private static let payloadFault: @Sendable (WireNotification) -> String? = {
    PayloadValidator.fault(of: $0)
  }
}
