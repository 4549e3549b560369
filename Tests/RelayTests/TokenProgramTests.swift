import Foundation
import XCTest

@testable import Relay

/// A program that gives provider tokens, as a relay runs it.
final class TokenProgramTests: XCTestCase {
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
    return try XCTUnwrap(TokenProgram(app))
  }

  private func assertFault(
    _ script: String, _ said: String, limitS: Double = 60, line: UInt = #line
  ) throws {
    XCTAssertThrowsError(try program(script, limitS: limitS).token(.first), line: line) {
      XCTAssertEqual("\($0)", "/bin/sh: " + said, line: line)
    }
  }

  func testItsTokenIsTaken() throws {
    let made = try program("printf '\n %s \n\n' \(jwt(age: 600)); echo noise >&2").token(.first)
    XCTAssertEqual(made.text, jwt(age: 600))
    XCTAssertEqual(made.keyID, "ABC123DEFG")
    XCTAssertEqual(RelayClock.now / 1000 - made.issuedAt, 600)
    // A service's clock may be a little ahead: then it counts as made now.
    let ahead = try program("echo \(jwt(age: -200))").token(.aged)
    XCTAssertLessThanOrEqual(ahead.issuedAt, RelayClock.now / 1000)
  }

  func testWhatItIsToldAndWhatNot() throws {
    setenv("NOTIFY_SOCKET", "/run/other", 1)
    setenv("APNS_OTHER", "x", 1)
    setenv("VAULT_ADDR", "https://vault.example", 1)
    defer { for name in ["NOTIFY_SOCKET", "APNS_OTHER", "VAULT_ADDR"] { unsetenv(name) } }
    // A file that is open here, and signals that are blocked and ignored.
    let file = open("/dev/null", O_RDONLY)
    defer { close(file) }
    var blocked = sigset_t()
    sigemptyset(&blocked)
    sigaddset(&blocked, SIGTERM)
    pthread_sigmask(SIG_BLOCK, &blocked, nil)
    defer { pthread_sigmask(SIG_UNBLOCK, &blocked, nil) }
    let place = FileManager.default.temporaryDirectory.path + "/told-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: place) }
    _ = try program(
      // The signals come first: a shell that has waited for a program blocks none any more.
      "exec 9>&1 >\(place); "
        + "while read line; do case $line in SigBlk*) echo $line;; esac; done </proc/$$/status; "
        + "env | grep -E '^(APNS|VAULT|NOTIFY)_' | sort; "
        + "ls /proc/$$/fd | tr '\\n' ' '; readlink /proc/$$/fd/0; echo \(jwt()) >&9"
    ).token(.refused)
    XCTAssertEqual(
      try String(contentsOfFile: place, encoding: .utf8).split(separator: "\n").map(String.init),
      [
        "SigBlk: 0000000000000000", "APNS_APP=shop", "APNS_ENVIRONMENT=production",
        "APNS_KEY_ID=ABC123DEFG",
        "APNS_TEAM_ID=DEF123GHIJ", "APNS_TOKEN=queue", "APNS_TOKEN_NEED=refused",
        "APNS_TOPIC=com.example.shop", "VAULT_ADDR=https://vault.example",
        "0 1 2 9 /dev/null",
      ])
  }

  func testWhatIsNoTokenIsSaid() throws {
    try assertFault("true", "it printed nothing")
    try assertFault(
      "echo hello",
      "its token cannot be used: it is no JSON Web Token, which has three parts in base64url, with dots between"
    )
    try assertFault(
      "echo bearer \(jwt())",
      "its token cannot be used: it is no JSON Web Token, which has three parts in base64url, with dots between"
    )
    try assertFault("echo a.b.c", "its token cannot be used: its parts are no JSON in base64url")
    try assertFault("printf '\\377'", "what it printed is no text")
    try assertFault("head -c 5000 /dev/zero", "it printed more than 4096 bytes")
    try assertFault("yes", "it printed more than 4096 bytes")
    try assertFault(
      "head -c 1001 /dev/zero | tr '\\0' a", "its token cannot be used: it has more than 1000 bytes"
    )
    try assertFault(
      "echo \(jwt(#"{"alg":"RS256","kid":"ABC123DEFG"}"#))",
      "its token cannot be used: its alg is not ES256")
    try assertFault(
      "echo \(jwt(#"{"alg":"ES256"}"#))", "its token cannot be used: it has no kid, the key's id")
    try assertFault(
      "echo \(jwt(age: 3400))",
      "its token cannot be used: it was made 56 minutes ago, and APNs takes none after 60")
    try assertFault(
      "echo \(jwt(iss: "OTHER12345"))",
      "its token is another's: iss is 'OTHER12345', not 'DEF123GHIJ'")
    XCTAssertThrowsError(try program("echo \(jwt(age: -3600))").token(.first)) {
      XCTAssertTrue("\($0)".contains("ahead of this machine's clock"), "\($0)")
    }
    XCTAssertNoThrow(try program("echo \(jwt())", key: nil).token(.first))
  }

  func testItsFailureIsToldInItsLastWords() throws {
    try assertFault(
      "echo first >&2; echo; printf 'vault is \\033[31msealed\\n\\n' >&2; exit 3",
      "it ended with status 3: vault is ?[31msealed")
    try assertFault("kill -9 $$", "it was ended by signal 9")
    // What may be a token is not shown, as a shell with -x would.
    let token = jwt()
    XCTAssertThrowsError(try program("echo + echo \(token) >&2; exit 1").token(.first)) {
      XCTAssertEqual("\($0)", "/bin/sh: it ended with status 1: + echo …")
    }
    // However much it says.
    try assertFault(
      "yes noise | head -c 3000000 >&2; echo end >&2; exit 1", "it ended with status 1: end")
    // A token with a failure is none.
    try assertFault("echo \(token); exit 1", "it ended with status 1")
  }

  func testItTakesNoLongerThanItMay() throws {
    let place = FileManager.default.temporaryDirectory.path + "/alive-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: place) }
    // What it started is ended with it.
    try assertFault(
      "sleep 600 & echo $! > \(place); wait", "it did not end within 0.5 s", limitS: 0.5)
    let child = try XCTUnwrap(
      pid_t(
        String(contentsOfFile: place, encoding: .utf8).trimmingCharacters(
          in: .whitespacesAndNewlines)))
    let limit = Date(timeIntervalSinceNow: 60)
    while kill(child, 0) == 0, isThere(child) {
      guard Date() < limit else { return XCTFail("what it started is still there") }
      usleep(10_000)
    }
    // One that it leaves behind with its output open is not waited for.
    let began = RelayClock.steady
    XCTAssertNoThrow(try program("setsid sleep 30 & echo \(jwt())").token(.first))
    XCTAssertLessThan(RelayClock.steady - began, 25_000)
  }

  /// Not one that has ended, and whose parent does not know.
  private func isThere(_ process: pid_t) -> Bool {
    guard let line = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let bracket = line.lastIndex(of: ")")
    else { return false }
    return line[bracket...].split(separator: " ").dropFirst().first != "Z"
  }
}
