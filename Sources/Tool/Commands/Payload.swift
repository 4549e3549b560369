import ArgumentParser
import CAPNS
import Client
import CommandOptions
import JSON

struct Payload: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Check a payload and its size against each limit, and show it as a device would.",
    usage: "apns payload [<options>] [<file>]",
    discussion: """
      A payload as a device shows it in French:

          apns payload push.json --strings fr.lproj/Localizable.strings

      Errors have line and column, like a compiler's:

          echo '{"aps":{"alert":"Hello","bagde":9}}' | apns payload

      A warning is about content that devices ignore. If a loc-key is missing in the strings, the \
      key itself is shown, as on a device.

      \(Exit.text)
      """)

  @Argument(help: .of("file", "The payload, as JSON; - reads standard input."), completion: .file())
  var file = "-"

  @Option(
    help: .of("file", "The app's Localizable.strings in one language, for loc-key and the like."),
    completion: .file(extensions: ["strings"]))
  var strings: String?

  @Option(
    help: .of(
      "bytes",
      "The largest payload: 4096 for HTTP/2, 5120 for VoIP, 2048 for the binary interface, 256 before iOS 8."
    ))
  var limit = Int(APNS_PAYLOAD_MAX_HTTP2)

  @Option(help: .of("name", "The app's name in the banner."))
  var app = "App"

  @Flag(help: "Print one JSON object.") var json = false

  func validate() throws {
    if limit < 1 { throw ValidationError("--limit must be at least 1") }
    if file == "-", strings == "-" {
      throw ValidationError("standard input cannot be both the payload and the strings")
    }
  }

  func run() throws {
    var bytes = try Exit.refusing { try WholeText.readText(file) }
    // Removes the line feed that editors add at the end.
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    let localization = try Exit.refusing("--strings") { try strings.map { try StringsFile($0) } }
    let findings = LibraryFinding.all(in: bytes, limit: limit)
    let shown = (try? JSONParser.read(bytes)).flatMap { ShownPush($0, localization) }
    let isWrong = findings.contains { $0.isError } || shown?.problems.isEmpty == false
    StandardStream.output.write(
      json ? machine(bytes, findings, shown) : person(bytes, findings, shown))
    if isWrong { throw Exit.someRejected }
  }

  private func person(_ bytes: [UInt8], _ findings: [LibraryFinding], _ shown: ShownPush?) -> String
  {
    let name = file == "-" ? "payload" : Printable.line(file)
    var text = ""
    for finding in findings {
      text +=
        "\(name):\(finding.line):\(finding.column): \(finding.isError ? "error" : "warning"): \(Printable.line(finding.message))\n"
    }
    for problem in shown?.problems ?? [] { text += "\(name): error: \(Printable.line(problem))\n" }
    if !text.isEmpty { text += "\n" }
    text += "\(Printable.grouped(bytes.count)) bytes\n"
    for limit in LibraryFinding.limits {
      let number = Printable.grouped(limit.bytes)
      let rest = limit.bytes - bytes.count
      let outcome =
        rest >= 0
        ? "fits, \(Printable.grouped(rest)) left"
        : "too long by \(Printable.grouped(-rest))"
      text +=
        String(repeating: " ", count: 7 - number.count) + "\(number)  \(outcome)  (\(limit.of))\n"
    }
    if let shown { text += "\n" + BannerDrawing(app: app).drawn(shown) }
    return text
  }

  private func machine(_ bytes: [UInt8], _ findings: [LibraryFinding], _ shown: ShownPush?)
    -> String
  {
    let list = findings.map { finding in
      JSONMembers.object([
        "severity": .text(finding.isError ? "error" : "warning"), "line": .number(finding.line),
        "column": .number(finding.column), "offset": .number(finding.offset),
        "message": .text(finding.message),
      ])
    }
    let display = shown.map { shown in
      JSONMembers.object([
        "title": .text(shown.title), "subtitle": .text(shown.subtitle), "body": .text(shown.body),
        "badge": .number(shown.badge), "sound": .text(shown.sound),
        "silent": .flag(shown.isSilent), "missing_keys": .texts(nonempty: shown.missing),
        "problems": .texts(nonempty: shown.problems),
      ])
    }
    return JSONMembers.object([
      "bytes": .number(bytes.count), "limit": .number(limit), "findings": .list(list),
      "shown": .json(display),
    ]) + "\n"
  }
}
