import Client
import JSON

/// The checks in order, and their findings.
struct Report {
  enum Line {
    case fine(about: String, String)
    /// A skipped check, with the reason.
    case skipped(about: String, String)
    case found(Finding)
  }

  private(set) var lines: [Line] = []
  /// nil if the check did not connect.
  var isReachable: Bool?

  mutating func fine(_ about: String, _ message: String) {
    lines.append(.fine(about: Self.redacted(about), Self.redacted(message)))
  }
  mutating func skip(_ about: String, _ reason: String) {
    lines.append(.skipped(about: Self.redacted(about), Self.redacted(reason)))
  }
  mutating func add(_ finding: Finding?) {
    if let finding { lines.append(.found(Self.redacted(finding))) }
  }
  mutating func problem(_ cause: String, _ about: String, _ message: String, _ remedy: String) {
    add(.problem(cause, about, message, remedy))
  }
  mutating func warning(_ cause: String, _ about: String, _ message: String, _ remedy: String) {
    add(.warning(cause, about, message, remedy))
  }
  mutating func add(_ finding: Finding, severity: Finding.Severity) {
    var finding = finding
    finding.severity = severity
    add(finding)
  }

  /// Inserts it before the line with this number.
  mutating func add(_ finding: Finding, before line: Int) {
    lines.insert(.found(Self.redacted(finding)), at: min(line, lines.count))
  }

  private static func redacted(_ text: String) -> String {
    Redaction.of(text, given: CommandLine.arguments)
  }

  private static func redacted(_ finding: Finding) -> Finding {
    var finding = finding
    finding.about = redacted(finding.about)
    finding.message = redacted(finding.message)
    finding.remedy = redacted(finding.remedy)
    return finding
  }

  var findings: [Finding] {
    lines.compactMap { if case .found(let finding) = $0 { finding } else { nil } }
  }

  /// The text for people, wrapped on a terminal.
  func text(columns: Int?) -> String {
    var text = ""
    func add(_ label: String, _ words: String) {
      text += label + String(repeating: " ", count: 9 - label.count)
      let words = Printable.line(words)
      if let columns, columns > 29 {
        text += Printable.wrapped(words, indent: 9, columns: columns) + "\n"
      } else {
        text += words + "\n"
      }
    }
    for line in lines {
      switch line {
      case .fine(let about, let message): add("ok", "\(about): \(message)")
      case .skipped(let about, let reason): add("skipped", "\(about): \(reason)")
      case .found(let finding):
        add(finding.severity.rawValue, "\(finding.about): \(finding.message)")
        add("", "To do: \(finding.remedy)")
      }
    }
    return text + "\n" + summary + "\n"
  }

  private var summary: String {
    let problems = findings.count { $0.severity == .problem }
    let warnings = findings.count - problems
    var counts: [String] = []
    if problems > 0 { counts.append(problems == 1 ? "1 problem" : "\(problems) problems") }
    if warnings > 0 { counts.append(warnings == 1 ? "1 warning" : "\(warnings) warnings") }
    let skipped = lines.count { if case .skipped = $0 { true } else { false } }
    let untried =
      skipped == 0
      ? "" : skipped == 1 ? " 1 check was skipped." : " \(skipped) checks were skipped."
    return (counts.isEmpty ? "No problems found." : counts.joined(separator: ", ") + ".") + untried
  }

  var json: String {
    let checks = lines.map { line in
      switch line {
      case .fine(let about, let message):
        JSONMembers.object([
          "state": .text("ok"), "about": .text(about), "message": .text(message),
        ])
      case .skipped(let about, let reason):
        JSONMembers.object([
          "state": .text("skipped"), "about": .text(about), "message": .text(reason),
        ])
      case .found(let finding):
        JSONMembers.object([
          "state": .text(finding.severity.rawValue), "cause": .text(finding.cause),
          "about": .text(finding.about), "message": .text(finding.message),
          "remedy": .text(finding.remedy),
        ])
      }
    }
    return JSONMembers.object([
      "ok": .flag(findings.isEmpty), "reachable": .flag(isReachable), "checks": .list(checks),
    ]) + "\n"
  }
}
