import Foundation
import Testing

@testable import Relay

/// A program that gives provider tokens, as a relay runs it.
@Suite struct TokenProgramTests {
  private static func part(_ text: String) -> String {
    Data(text.utf8).base64EncodedString().replacingOccurrences(of: "+", with: "-")
      .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
  }

  private func jwt(
    _ head: String = #"{"alg":"ES256","kid":"ABC123DEFG"}"#, iss: String = "DEF123GHIJ",
    age: Int64 = 0
  ) -> String {
    let claims = #"{"iss":"\#(iss)","iat":\#(RelayClock.now / 1000 - age)}"#
    return "\(Self.part(head)).\(Self.part(claims)).c2lnbmF0dXJl"
  }

  private func program(
    _ script: String, limitS: Double = 60, key: String? = "ABC123DEFG"
  ) throws -> TokenProgram {
    var app = AppConfiguration()
    app.name = "shop"
    app.topic = "com.example.shop"
    app.credentials.program = ["/bin/sh", "-c", script]
    app.credentials.programS = limitS
    app.credentials.keyID = key
    app.credentials.teamID = "DEF123GHIJ"
    return try #require(TokenProgram(app))
  }

  private func assertFault(
    _ script: String, _ said: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(
      fault { try program(script).token(.first) } == "/bin/sh: " + said,
      sourceLocation: sourceLocation)
  }

  @Test func itsTokenIsTaken() throws {
    let (token, soon) = (jwt(age: 600), RelayClock.now / 1000)
    let made = try program("printf '\n %s \n\n' \(token); echo noise >&2").token(.first)
    #expect(made.text == token)
    #expect(made.keyID == "ABC123DEFG")
    #expect([soon - 600, soon - 601].contains(made.issuedAt))
    // A service's clock may be a little ahead: then the token counts as made now.
    let ahead = try program("echo \(jwt(age: -200))").token(.aged)
    #expect(ahead.issuedAt <= RelayClock.now / 1000)
  }

  /// In a separate process with a private environment.
  @Test func whatItIsToldAndWhatNot() async {
    await #expect(processExitsWith: .success) {
      let tests = TokenProgramTests()
      setenv("NOTIFY_SOCKET", "/run/other", 1)
      setenv("APNS_OTHER", "x", 1)
      setenv("VAULT_ADDR", "https://vault.example", 1)
      // An open file, and signals that are blocked and ignored.
      _ = open("/dev/null", O_RDONLY)
      var blocked = sigset_t()
      sigemptyset(&blocked)
      sigaddset(&blocked, SIGTERM)
      pthread_sigmask(SIG_BLOCK, &blocked, nil)
      let directory = try TestDirectory()
      let place = directory.path + "/told"
      _ = try tests.program(
        // The signals come first: a shell that has waited for a program no longer blocks any.
        "exec 9>&1 >\(place); "
          + "while read line; do case $line in SigBlk*) echo $line;; esac; done </proc/$$/status; "
          + "env | grep -E '^(APNS|VAULT|NOTIFY)_' | sort; "
          // Not in a pipeline: while the shell starts one, it has the pipe open itself.
          + "ls /proc/$$/fd; readlink /proc/$$/fd/0; echo \(tests.jwt()) >&9"
      ).token(.refused)
      #expect(
        try String(contentsOfFile: place, encoding: .utf8).split(separator: "\n").map(String.init)
          == [
            "SigBlk: 0000000000000000", "APNS_APP=shop", "APNS_ENVIRONMENT=production",
            "APNS_KEY_ID=ABC123DEFG",
            "APNS_TEAM_ID=DEF123GHIJ", "APNS_TOKEN=queue", "APNS_TOKEN_NEED=refused",
            "APNS_TOPIC=com.example.shop", "VAULT_ADDR=https://vault.example",
            "0", "1", "2", "9", "/dev/null",
          ])
    }
  }

  @Test func whatIsNoTokenIsSaid() throws {
    let noJWT = "not a JSON Web Token: three base64url parts separated by dots"
    for (script, said) in [
      ("true", "its output is empty"),
      ("printf '\\377'", "its output is not UTF-8"),
      ("head -c 5000 /dev/zero", "it printed more than 4096 bytes"),
      ("yes", "it printed more than 4096 bytes"),
      (
        "echo \(jwt(iss: "OTHER12345"))",
        "its token is for another key or team: iss is 'OTHER12345', not 'DEF123GHIJ'"
      ),
    ] { try assertFault(script, said) }
    for (script, said) in [
      ("echo hello", noJWT),
      ("echo bearer \(jwt())", noJWT),
      ("echo a.b.c", "its parts are not base64url-encoded JSON"),
      ("head -c 1001 /dev/zero | tr '\\0' a", "it has more than 1000 bytes"),
      ("echo \(jwt(#"{"alg":"RS256","kid":"ABC123DEFG"}"#))", "its alg is not ES256"),
      ("echo \(jwt(#"{"alg":"ES256"}"#))", "it has no kid, the key ID"),
      ("echo \(jwt(age: 3400))", "it is 56 minutes old, and APNs accepts none after 60"),
    ] { try assertFault(script, "its token cannot be used: " + said) }
    #expect(
      fault { try program("echo \(jwt(age: -3600))").token(.first) }.contains(
        "ahead of this machine's clock"))
    #expect(throws: Never.self) { try program("echo \(jwt())", key: nil).token(.first) }
  }

  @Test func itsFailureIsToldInItsLastWords() throws {
    try assertFault(
      "echo first >&2; echo; printf 'vault is \\033[31msealed\\n\\n' >&2; exit 3",
      "it ended with status 3: vault is ?[31msealed")
    try assertFault("kill -9 $$", "it was ended by signal 9")
    // A possible token is not shown, as in the trace of a shell with -x.
    let token = jwt()
    #expect(
      fault { try program("echo + echo \(token) >&2; exit 1").token(.first) }
        == "/bin/sh: it ended with status 1: + echo …")
    // However long its output is.
    try assertFault(
      "yes noise | head -c 3000000 >&2; echo end >&2; exit 1", "it ended with status 1: end")
    // A token is ignored if the program fails.
    try assertFault("echo \(token); exit 1", "it ended with status 1")
  }

  @Test func itTakesNoLongerThanItMay() throws {
    let directory = try TestDirectory()
    let place = directory.path + "/started"
    // It times out while its child runs, which is ended with it.
    let slow = try program(
      "sleep 600 & echo $! > \(place)-; mv \(place)- \(place); wait", limitS: 0.5)
    let said = fault {
      try slow.token(.first) { access(place, F_OK) == 0 ? 500 : 0 }
    }
    #expect(said == "/bin/sh: it did not end within 0.5 s")
    let child = try process(in: place)
    let limit = Date(timeIntervalSinceNow: 60)
    while isThere(child) {
      try #require(Date() < limit, "what it started is still there")
      usleep(10_000)
    }
  }

  @Test func whatItLeavesBehindWithItsOutputOpenIsNotWaitedFor() throws {
    let directory = try TestDirectory()
    let place = directory.path + "/started"
    _ = try program("setsid sleep 600 & echo $! > \(place); echo \(jwt())").token(.first)
    let child = try process(in: place)
    #expect(isThere(child))
    kill(child, SIGKILL)
  }

  private func process(in file: String) throws -> pid_t {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    return try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  /// False for a zombie too.
  private func isThere(_ process: pid_t) -> Bool {
    guard let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let bracket = line.lastIndex(of: ")")
    else { return false }
    return line[bracket...].split(separator: " ").dropFirst().first != "Z"
  }
}
