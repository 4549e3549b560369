import ArgumentParser
import Client
import CommandOptions
import JSON

enum TokenForm: String, CaseIterable, ExpressibleByArgument {
  case hex, base64, nsdata, c, raw
}

struct Token: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show device tokens as text and as bytes, with suspicious ones and duplicates.",
    usage: "apns token [<options>] [<token> ...]",
    discussion: """
      A token in all notations:

          apns token \\
          '<5f79cfda 4d01aa3a 11c833f9 7b52df2a 7a210252 e21b01fa a73d3463 9ee0e412>'

      Text is hex, also as printed by NSData, or base64. To bytes and back:

          apns token --as raw 5f79cfda4d01aa3a > token.bin
          apns token --as hex --raw token.bin

      Errors and duplicates in a list:

          apns token --list devices.csv

      \(Exit.text)
      """)

  @Argument(help: .of("token", "Tokens, in hex or base64."))
  var tokens: [String] = []

  @Option(file: "A file with the bytes of one token; - reads standard input.")
  var raw: String?

  @Option(file: "Check a list, CSV or JSON lines; - reads standard input.")
  var list: String?

  @Option(help: .of("name", "The name of the list's token column."))
  var tokenColumn = "token"

  @Option(name: .customLong("as"), help: "Write only this form, one per line.")
  var form: TokenForm?

  @Flag(help: "Print JSON, one object per line.") var json = false

  func validate() throws {
    let ways = [!tokens.isEmpty, raw != nil, list != nil].count { $0 }
    if ways != 1 { throw ValidationError("give one of tokens, --raw or --list") }
    if list != nil, form != nil { throw ValidationError("--as cannot be used with --list") }
    if form != nil, json { throw ValidationError("give either --as or --json, not both") }
    if form == .raw, tokens.count > 1 {
      throw ValidationError("--as raw can write only one token, because it has no separator")
    }
  }

  func run() throws {
    if let list { throw try checkList(list) }
    var isWrong = false
    for token in try given() {
      switch token {
      case .success(let token): show(token)
      case .failure(let fault):
        isWrong = true
        if json {
          let members: JSONMembers = [
            "text": .text(Redaction.replacement(fault.text) ?? fault.text),
            "error": .text(fault.message),
          ]
          StandardStream.output.write(members.object + "\n")
        } else {
          StandardStream.error.write(
            "Error: '\(Printable.line(fault.text))': \(fault.message)\n")
        }
      }
    }
    if isWrong { throw Exit.someRejected }
  }

  private func given() throws -> [Result<ReadToken, TokenFault>] {
    if let raw {
      return try Exit.refusing("--raw") {
        let bytes = try WholeText.read(raw)
        guard !bytes.isEmpty, bytes.count <= DeviceToken.maxLength else {
          throw FileFault(
            path: raw,
            message: "\(bytes.count) bytes, but a token has 1 to \(DeviceToken.maxLength)")
        }
        return [.success(ReadToken(bytes: bytes, isBase64: false))]
      }
    }
    return tokens.map { text in
      Result { () throws(TokenFault) in try ReadToken(text) }
    }
  }

  private func show(_ token: ReadToken) {
    let bytes = token.bytes
    if let form {
      switch form {
      case .hex: StandardStream.output.write(DeviceToken.hex(of: bytes) + "\n")
      case .base64: StandardStream.output.write(DeviceToken.base64(of: bytes) + "\n")
      case .nsdata: StandardStream.output.write(token.nsdata + "\n")
      case .c: StandardStream.output.write(token.c + "\n")
      case .raw: StandardStream.output.write(bytes)
      }
      return
    }
    if json {
      let members: JSONMembers = [
        "token": .text(DeviceToken.hex(of: bytes)), "bytes": .number(bytes.count),
        "base64": .text(DeviceToken.base64(of: bytes)),
        "hints": .list(token.hints.map { JSONLiteral.string($0) }),
      ]
      StandardStream.output.write(members.object + "\n")
      return
    }
    var text = """
      hex     \(DeviceToken.hex(of: bytes))
      base64  \(DeviceToken.base64(of: bytes))
      NSData  \(token.nsdata)
      C       \(token.c)
      bytes   \(bytes.count)

      """
    for hint in token.hints { text += "hint    \(hint)\n" }
    StandardStream.output.write(text)
  }

  private func checkList(_ path: String) throws -> ExitCode {
    var survey = ListSurvey()
    try Exit.refusing("--list") { try survey.read(path, token: tokenColumn) }
    StandardStream.output.write(json ? survey.json : survey.text)
    return survey.isClean ? .success : Exit.someRejected
  }
}
