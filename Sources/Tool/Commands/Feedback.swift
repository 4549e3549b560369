import ArgumentParser
import CAPNS
import Client
import CommandOptions
import JSON

struct FeedbackCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "feedback",
    abstract: "List gone devices, and remove them from a list.",
    discussion: """
      Read the feedback service, and write the list without those devices:

          apns feedback --certificate provider.pem --host feedback.example.com \\
            --prune devices.csv --output devices.new.csv

      HTTP/2 has no feedback service: responses to pushes report gone devices, and the results of \
      apns send contain them:

          apns feedback --from results.jsonl --prune devices.csv --in-place

      READING THE LIST CLEARS IT at the service. So the list to prune is checked first, and --save \
      keeps the service's list for --from.

      A DEVICE THAT REGISTERED after the service found it gone stays in the list: the column \
      registered has the time of each registration, in UNIX seconds or as 2026-11-21T14:00:00Z. A \
      device without a time stays too, and is counted; --ignore-registration removes all of them. \
      Lists have the format that apns send reads. The remaining lines are written unchanged and in \
      the same order.

      REJECTED TOKENS do not count as gone: the service reports that they are bad, not that a \
      device is gone. --also-rejected removes them too. But the service rejects every good token \
      in the same way if sandbox and production are confused, or if the topic belongs to another \
      app. So there is always a warning, and if the results have more rejected than accepted \
      notifications, --in-place changes nothing.

          apns feedback --from results.jsonl --also-rejected \\
            --prune devices.csv --output devices.new.csv

      \(Exit.text)
      """)

  @OptionGroup(title: "Provider") var provider: ProviderOptions
  @OptionGroup(title: "Service") var service: PeerOptions

  @Option(
    file:
      "Read the gone devices from this file, not from a service: the output of --save, --json or --csv, or results of apns send."
  )
  var from: String?

  @Option(file: "Save the service's list as JSON lines.")
  var save: String?

  @Option(
    file:
      "Write this list without the gone devices: to --output, or to standard output instead of the table."
  )
  var prune: String?

  @Option(file: "Write the pruned list to this file.")
  var output: String?

  @Flag(help: "Replace the list with the pruned one.")
  var inPlace = false

  @Option(help: .of("name", "The name of the list's token column."))
  var tokenColumn = "token"

  @Option(help: .of("name", "The name of the list's column with the time of registration."))
  var registeredColumn = "registered"

  @Flag(help: "Remove every gone device, whenever it registered.")
  var ignoreRegistration = false

  @Flag(
    help: ArgumentHelp(
      """
      Also remove tokens that were rejected in the results of apns send because of the token \
      (BadDeviceToken, DeviceTokenNotForTopic, invalid token).
      """))
  var alsoRejected = false

  @Flag(help: "Print CSV.") var csv = false
  @Flag(help: "Print JSON lines.") var json = false

  func validate() throws {
    if alsoRejected, from == nil {
      throw ValidationError(
        "--also-rejected needs results of apns send, --from: a feedback service lists no rejections"
      )
    }
    if alsoRejected, csv {
      throw ValidationError(
        "--csv has no column for --also-rejected: use --json, which distinguishes them")
    }
    if csv, json { throw ValidationError("give either --csv or --json, not both") }
    if prune == nil {
      try refuse([
        "--output": output != nil, "--in-place": inPlace,
        "--ignore-registration": ignoreRegistration,
      ]) { "\($0) needs --prune" }
    }
    if inPlace, output != nil {
      throw ValidationError("give either --in-place or --output, not both")
    }
    if prune == "-", inPlace { throw ValidationError("--in-place cannot replace standard input") }
    if from == "-", prune == "-" {
      throw ValidationError("standard input cannot be both --from and --prune")
    }
    if from == nil, provider.p8 != nil, provider.certificate == nil, provider.p12 == nil {
      throw ValidationError(
        "--p8 is for HTTP/2 only, and the feedback service needs a certificate; over HTTP/2 the "
          + "results of apns send have the gone devices: --from")
    }
    if from != nil, save != nil {
      throw ValidationError("--save saves the list of a service: it cannot be used with --from")
    }
  }

  func run() throws {
    // Everything that can fail comes first, because the service sends its list only once.
    let pruning = try Exit.refusing("--prune") {
      try prune.map { path in
        try Pruning(
          path, token: tokenColumn, registered: ignoreRegistration ? nil : registeredColumn,
          to: inPlace ? path : output)
      }
    }
    var gone = GoneDeviceList(takesRejected: alsoRejected)
    var truncation: LibraryError?
    if let from {
      try Exit.refusing("--from") { try gone.read(from) }
      try weigh(gone.rejected)
    } else {
      truncation = try readService(&gone)
    }
    let isPrunedHere = pruning != nil && output == nil && !inPlace
    if !isPrunedHere { show(gone) }
    if let pruning {
      let kept = try Exit.refusing("--prune") { try pruning.run(gone) }
      report(kept)
    }
    if let truncation {
      throw Exit.report("the list was truncated: \(truncation.message)", Exit.unreachable)
    }
  }

  /// A wrong provider setup may cause such rejections, and then every token would be lost.
  private func weigh(_ rejected: RejectedTokens) throws {
    let count = rejected.all.count
    guard count > 0 else { return }
    if inPlace, rejected.isDoubtful {
      throw Exit.refusal(
        "--also-rejected: the results have \(Printable.grouped(rejected.rejections)) such "
          + "rejections and \(Printable.grouped(rejected.accepted)) accepted, so the provider "
          + "is probably configured wrongly: \(Self.otherCause). The list is unchanged; --output "
          + "writes a list to check")
    }
    StandardStream.error.write(
      "Warning: \(Printable.grouped(count)) rejected tokens are removed as if they were gone: "
        + "\(Self.otherCause). apns doctor --token checks one of them\n")
  }

  private static let otherCause =
    "the service rejects good tokens too if sandbox and production are confused, or if the topic "
    + "belongs to another app"

  /// The service's list, and the error if it was truncated.
  private func readService(_ gone: inout GoneDeviceList) throws -> LibraryError? {
    try provider.demand(of: service)
    let credentials = try provider.credentials()
    let file = try Exit.refusing("--save") {
      try save.map { (path) throws(FileFault) in try OutputFile(path) }
    }
    let stream: FeedbackStream
    do throws(LibraryError) {
      stream = try FeedbackStream(service.peer, credentials: credentials)
    } catch {
      throw Exit.unreached(error, provider.shown)
    }
    var truncation: LibraryError?
    do throws(LibraryError) {
      while let device = try stream.next() {
        gone.add(device)
        try? file?.write(Array((device.json + "\n").utf8))
      }
    } catch {
      truncation = error
    }
    try Exit.refusing("--save") { try file?.finish() }
    return truncation
  }

  private func show(_ gone: GoneDeviceList) {
    var text = csv ? "token,timestamp\n" : ""
    let rejected = gone.rejected.all
    let isEmpty = gone.devices.isEmpty && rejected.isEmpty
    if !csv, !json { text = isEmpty ? "No gone devices.\n" : "gone since            token\n" }
    for device in gone.devices {
      if json {
        text += device.json + "\n"
      } else if csv {
        text += "\(DeviceToken.hex(of: device.token)),\(device.since)\n"
      } else {
        text += "\(Clock.written(device.since))  \(DeviceToken.hex(of: device.token))\n"
      }
      if text.utf8.count > 1 << 16 {
        StandardStream.output.write(text)
        text = ""
      }
    }
    for one in rejected {
      if json {
        text += one.json + "\n"
      } else {
        let time = one.at.map { Clock.written($0) } ?? "time unknown        "
        text += "\(time)  \(DeviceToken.hex(of: one.token))  \(Printable.line(one.reason))\n"
      }
    }
    StandardStream.output.write(text)
  }

  private func report(_ kept: Pruning.Counts) {
    if json {
      let members: JSONMembers = [
        "kept": .number(kept.kept), "removed": .number(kept.removed),
        "registered_later": .number(kept.registeredLater),
        "registration_unknown": .number(kept.unknown), "not_read": .number(kept.notRead),
      ]
      (output == nil && !inPlace ? StandardStream.error : .output).write(members.object + "\n")
      return
    }
    var text =
      "\(Printable.grouped(kept.removed)) removed, \(Printable.grouped(kept.kept)) kept"
    if kept.registeredLater > 0 {
      text +=
        ", \(Printable.grouped(kept.registeredLater)) of them gone but registered again since"
    }
    text += "\n"
    if kept.unknown > 0 {
      text +=
        "Warning: \(Printable.grouped(kept.unknown)) gone devices were kept, because the list does not show whether they registered later (first in line \(kept.firstUnknown)): --ignore-registration removes them\n"
    }
    if kept.notRead > 0 {
      text +=
        "Warning: \(Printable.grouped(kept.notRead)) lines were kept because they could not be read (first in line \(kept.firstNotRead))\n"
    }
    StandardStream.error.write(text)
  }
}
