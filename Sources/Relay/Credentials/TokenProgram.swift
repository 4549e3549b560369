import Foundation

/// The program that supplies an app's provider tokens, and its environment.
struct TokenProgram: Hashable, Sendable {
  /// Variables of the service manager, which are not passed on.
  private static let kept = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

  let words: [String]
  let limitS: Double
  let keyID: String?
  let teamID: String?
  private let told: [String: String]
  /// Changes when the program's file does.
  private let mark: [Int64]

  /// nil if the app's tokens have another source.
  init?(_ app: AppConfiguration) {
    let who = app.credentials
    guard !who.program.isEmpty else { return nil }
    words = who.program
    limitS = who.programS
    keyID = who.keyID
    teamID = who.teamID
    told = [
      "APNS_APP": app.name, "APNS_TOPIC": app.topic ?? "",
      "APNS_ENVIRONMENT": app.environment.rawValue, "APNS_KEY_ID": who.keyID ?? "",
      "APNS_TEAM_ID": who.teamID ?? "", "APNS_TOKEN": who.providerToken.rawValue,
    ]
    mark = FileMark.of(words[0])
  }

  /// Runs the program, up to its time limit.
  func token(
    _ need: QueueToken.Need, clock: @escaping () -> Int64 = { RelayClock.monotonic }
  ) throws(RelayFault) -> ProviderJWT {
    var environment = ProcessInfo.processInfo.environment
    for name in environment.keys
    where Self.kept.contains(name) || name.hasPrefix("LISTEN_") || name.hasPrefix("APNS_") {
      environment[name] = nil
    }
    for (name, value) in told { environment[name] = value }
    environment["APNS_TOKEN_NEED"] = need.rawValue
    let run = ProgramRun(
      words: words, environment: environment.map { "\($0.key)=\($0.value)" }, limitS: limitS,
      clock: clock)
    let text = try run.output()
    let token: ProviderJWT
    do throws(RelayFault) {
      token = try ProviderJWT(text, at: RelayClock.now / 1000)
    } catch {
      throw run.fault("its token cannot be used: \(error)")
    }
    for (name, wanted, found) in [
      ("kid", keyID, token.keyID), ("iss", teamID, token.teamID),
    ] {
      guard wanted == nil || wanted == found else {
        throw run.fault(
          "its token is for another key or team: \(name) is '\(found.prefix(20))', not '\(wanted ?? "")'"
        )
      }
    }
    return token
  }
}
