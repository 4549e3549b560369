import ArgumentParser
import Foundation
import Relay

/// The configuration of a command without --config: APNS_RELAY_CONFIG, or the installed one.
enum ConfigurationFile {
  static let installed = "/etc/apns/relay.yaml"
  static let help = ArgumentHelp(
    "The relay's configuration, in YAML. Default: APNS_RELAY_CONFIG in the environment, or \(installed).",
    valueName: "file")

  /// nil without a named or installed file.
  static func found(_ named: String?) -> String? {
    if let named { return named }
    if let path = ProcessInfo.processInfo.environment["APNS_RELAY_CONFIG"], !path.isEmpty {
      return path
    }
    return access(installed, F_OK) == 0 ? installed : nil
  }

  static func read(_ named: String?) throws -> RelayConfiguration {
    try ConfigurationReader.read(demanded(named))
  }

  static func demanded(_ named: String?) throws -> String {
    guard let path = found(named) else {
      throw ValidationError(
        "--config is missing, and there is no \(installed); apns relay --print-config prints one to start with"
      )
    }
    return path
  }
}
