/// An option that the environment or a profile may set, by its long name.
enum DefaultOption: String, CaseIterable {
  case certificate, key, p12, p8
  case keyID = "key-id"
  case teamID = "team-id"
  case passphraseFile = "passphrase-file"
  case ca, crl, topic, host, port
  case serverName = "server-name"
  case sandbox, proxy

  var isFlag: Bool { self == .sandbox }
  var isFile: Bool {
    [.certificate, .key, .p12, .p8, .passphraseFile, .ca, .crl].contains(self)
  }

  /// APNS_TEAM_ID for team-id.
  var variable: String {
    "APNS_" + rawValue.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
  }

  /// The commands that have it. A host names a push service, which manages no channels.
  func isTaken(by command: String) -> Bool {
    switch self {
    case .topic: ["send", "channel", "doctor"].contains(command)
    case .host, .port, .serverName: ["send", "doctor"].contains(command)
    case .p8, .keyID, .teamID: ["send", "channel", "doctor"].contains(command)
    default: ["send", "channel", "doctor", "feedback"].contains(command)
    }
  }

  /// Options that a lower-priority source may not add to this one, because they are for another key
  /// or service.
  var excludes: [DefaultOption] {
    switch self {
    case .p8: [.certificate, .p12, .key, .p8, .keyID, .passphraseFile]
    case .certificate, .p12:
      [.certificate, .p12, .key, .p8, .keyID, .teamID, .passphraseFile]
    case .host: [.host, .port, .serverName, .sandbox]
    case .sandbox: [.host, .port, .serverName, .sandbox]
    default: [self]
    }
  }
}
