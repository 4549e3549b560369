import ArgumentParser
import CommandOptions
import Foundation
import JSON
import Relay

extension Lane: ExpressibleByArgument {}

struct Enqueue: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enqueue", abstract: "Put notifications into a relay's queue.",
    discussion: """
      One payload for a few devices, or for a list:

          apns enqueue --id sale-1 --alert Hello 5f79cfda4d01aa3a
          apns enqueue --config relay.yaml --app shop --id sale-2 --alert 'Hello {{name}}' \\
            --tokens devices.jsonl

      Or for all subscribers of a channel:

          apns enqueue --config relay.yaml --app shop --id goal-3 --payload update.json \\
            --channel dHN0LXNyY2gtY2hubA==

      A LIST has a device in each line: a token in hex, or a JSON object with "token" and the \
      values for placeholders such as {{name}} in the payload. Or it is CSV as for apns send: its \
      first line names the columns, one of them token.

      A CAMPAIGN FILE is a YAML file with the same values, to keep: app, id, payload (a file) or alert, \
      tokens (a file) or channel, topic, push_type, priority, expiry, collapse_id, deadline, lane, at, \
      at_local, campaign. \
      Relative paths start at its directory. Options on the command line take precedence.

      A LOCAL TIME needs a value timezone of each device in the list, such as Europe/Berlin:

          apns enqueue --config relay.yaml --app shop --id sale-4 --alert 'Good morning' \\
            --tokens devices.csv --at-local 9:00

      RUNNING IT TWICE is safe. The ID of each entry is --id with a number; IDs that are queued or \
      have an outcome are skipped.

      EXIT STATUS: 0 if everything is queued; 2 if the command line, a file or the queue cannot be \
      used: then nothing was enqueued after the place that standard error names.
      """)

  @OptionGroup var place: QueueOptions

  @Option(help: .of("file", "A campaign file."))
  var campaignFile: String?

  @Option(
    help: .of(
      "name",
      "What apns-relay list, pause and cancel call these notifications. Default: the --id of a list."
    ))
  var campaign: String?

  @Option(
    help: .of(
      "id", "Idempotency ID, up to 64 characters. Default: a generated UUID, which is printed."))
  var id: String?

  @Argument(help: .of("token", "Device tokens, in hex."))
  var tokens: [String] = []

  @Option(
    name: .customLong("tokens"),
    help: .of("file", "A list of devices; - reads standard input."))
  var list: String?

  @Option(help: .of("id", "Broadcasts to the channel with this identifier."))
  var channel: String?

  @OptionGroup(title: "Payload") var payload: PayloadOptions

  @Option(name: .shortAndLong, help: .of("id", "The app's bundle ID. Default: the relay's."))
  var topic: String?

  @Option(help: .of("type", "Such as alert or background."))
  var pushType: String?

  @Option(help: .of("n", "10, 5 or 1."))
  var priority: Int?

  @Option(help: .of("seconds", "How long APNs tries to deliver; 0 tries once."))
  var expiresIn: UInt32?

  @Option(help: .of("id", "Replaces an earlier notification with the same ID."))
  var collapseID: String?

  @Option(help: .of("time", "Not sent after this time, in UNIX seconds."))
  var deadline: Int64?

  @Option(
    help: .of(
      "lane",
      "urgent, normal or bulk: each overtakes what waits in the next ones. Default: bulk for a list, otherwise normal."
    ))
  var lane: Lane?

  @Option(
    help: .of(
      "time", "Sent from this time on, such as 2026-12-24T09:00:00+01:00; at most a year ahead."))
  var at: String?

  @Option(
    help: .of(
      "time",
      "Sent at this time in each device's timezone: the next 9:00, or 2026-12-24T09:00, if that is past at once."
    ))
  var atLocal: String?

  @Option(
    name: .customLong("in"), help: .of("duration", "Sent after this time, such as 90m or 2h."))
  var delay: String?

  @Option(help: .of("context", "A W3C traceparent, which outcomes and webhooks hand on."))
  var traceparent: String?

  @Option(help: .of("n", "Devices per entry, up to 1000."))
  var entry = 500

  @Flag(help: "Print the totals as JSON.")
  var json = false

  func validate() throws {
    if !tokens.isEmpty, list != nil {
      throw ValidationError("give either tokens or --tokens, not both")
    }
    if channel != nil, !tokens.isEmpty || list != nil {
      throw ValidationError("give either --channel or devices, not both")
    }
    if let at {
      guard delay == nil else { throw ValidationError("give either --at or --in, not both") }
      guard Campaign.due(at: at) != nil else {
        throw ValidationError("--at \(Campaign.dueFault(at))")
      }
    }
    if let atLocal {
      guard at == nil, delay == nil else {
        throw ValidationError("give one of --at, --at-local and --in")
      }
      guard channel == nil, tokens.isEmpty else {
        throw ValidationError("--at-local is for --tokens, whose devices have a timezone")
      }
      guard LocalTime(atLocal) != nil else {
        throw ValidationError("--at-local \(LocalTime.fault(atLocal))")
      }
    }
    if let delay, Campaign.due(in: delay) == nil {
      throw ValidationError("--in must be a time such as 90m or 2h, not '\(delay)'")
    }
    if let traceparent, TraceParent.valid(traceparent) == nil {
      throw ValidationError("--traceparent \(TraceParent.fault)")
    }
    if payload.payload == "-", list == "-" {
      throw ValidationError("standard input cannot be both the list and the payload")
    }
    guard (1...NewEntry.mostTokens).contains(entry) else {
      throw ValidationError("--entry must be 1 to \(NewEntry.mostTokens)")
    }
  }

  func run() throws { try RelayCommand.refusing(enqueue) }

  private func enqueue() throws {
    var plan = try campaignFile.map { try Campaign(file: $0) } ?? Campaign()
    if id != nil { plan.id = id }
    if let file = payload.payload {
      plan.entry.payload = try TextFile.read(file == "-" ? "/dev/stdin" : file)
    }
    if payload.hasFlags { plan.entry.payload = payload.json }
    // The target on the command line overrides the campaign's.
    if list != nil || !tokens.isEmpty { (plan.list, plan.entry.channel) = (list, nil) }
    if channel != nil { (plan.list, plan.entry.channel) = (nil, channel) }
    plan.entry.topic = topic ?? plan.entry.topic
    plan.entry.pushType = pushType ?? plan.entry.pushType
    plan.entry.priority = priority ?? plan.entry.priority
    if let expiresIn {
      plan.entry.expiry =
        expiresIn == 0 ? 0 : Int64(Date().timeIntervalSince1970) + Int64(expiresIn)
    }
    plan.entry.collapseID = collapseID ?? plan.entry.collapseID
    plan.entry.deadline = deadline ?? plan.entry.deadline
    plan.entry.traceparent = traceparent
    plan.lane = lane ?? plan.lane
    plan.name = campaign ?? plan.name
    if at != nil || atLocal != nil || delay != nil {
      plan.due = at.flatMap(Campaign.due(at:)) ?? delay.flatMap(Campaign.due(in:))
      plan.localTime = atLocal.flatMap { LocalTime($0) }
    }
    var place = place
    place.app = place.app ?? plan.app
    let (queue, app) = try place.place()
    let engine = try queue.open()
    if plan.entry.channel != nil {
      guard plan.list == nil else {
        throw RelayCommand.refusal("the campaign has both tokens and channel")
      }
      return report(try plan.enqueue(app: app, into: engine), isBroadcast: true)
    }
    let source: DeviceLines
    if !tokens.isEmpty {
      source = DeviceLines(tokens)
    } else if let list = plan.list {
      source = try DeviceLines(
        file: list, valueNames: PayloadTemplate(plan.entry.payload).valueNames)
    } else {
      throw RelayCommand.refusal("there is no device: give tokens, --tokens or --channel")
    }
    let total = try plan.enqueue(source, perEntry: entry, app: app, into: engine)
    report(total, isBroadcast: false)
  }

  private func report(_ total: Campaign.Total, isBroadcast: Bool) {
    guard !json else {
      return print(
        "{\"enqueued\":\(total.added),\"known\":\(total.known),\"devices\":\(total.devices),\"id\":\(JSONLiteral.string(total.id))}"
      )
    }
    let added = isBroadcast ? total.added.of("broadcast") : total.added.of("entry", "entries")
    let devices = isBroadcast ? "" : " \(total.devices.of("device"));"
    print("\(added) enqueued, \(total.known) known already;\(devices) id \(total.id)")
  }
}
