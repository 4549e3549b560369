import ArgumentParser
import CommandOptions
import Foundation
import JSON
import Relay

struct DeadLetters: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dead", abstract: "Print dead letters and their histories.",
    discussion: """
      A dead letter is an entry that was delivered or deferred too often. The number of devices is \
      that of its notifications with the outcome "dead", which apns-relay retry pushes again.

          apns-relay dead
          apns-relay dead --id order-4711 order-4712
          apns-relay dead --json | jq -r .id

      No relay needs to run, and none is blocked.

      EXIT STATUS: 0, even without dead letters; 2 if the configuration or the queue cannot be used.
      """)

  @OptionGroup var place: QueueOptions

  @Option(parsing: .upToNextOption, help: .of("id", "Only dead letters with these IDs."))
  var id: [String] = []

  @Flag(help: "Print a JSON object for each.")
  var json = false

  func run() throws {
    try RelayCommand.refusing {
      let (queue, app) = try place.place()
      let output = LineOutput()
      try queue.openForReading().readDeadLetters(app: app, ids: Set(id)) { letters in
        for letter in letters { output.add(json ? Self.json(letter) : Self.text(letter)) }
        try output.write()
      }
    }
  }

  private static func text(_ letter: DeadLetter) -> String {
    let head = """
      \(TimeText.of(letter.at))  \(LineOutput.shown(letter.id))  \(letter.lane)  \
      \(letter.devices) devices  \(letter.deliveries) deliveries
      """
    return ([head] + lines(letter).map { "    \(LineOutput.shown($0))" }).joined(separator: "\n")
  }

  private static func json(_ letter: DeadLetter) -> String {
    let history = lines(letter).map { JSONLiteral.string($0) }.joined(separator: ",")
    return """
      {"id":\(JSONLiteral.string(letter.id)),"lane":"\(letter.lane)","devices":\(letter.devices),\
      "deliveries":\(letter.deliveries),"at":\(letter.at),"history":[\(history)]}
      """
  }

  private static func lines(_ letter: DeadLetter) -> [String] {
    letter.history.split(separator: "\n").map(String.init)
  }
}

struct Retry: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Give dead letters back to the queue.",
    discussion: """
      They keep their IDs, lanes, deadlines and histories, and their deliveries are counted again \
      from 0. Devices whose outcome is "dead" are pushed to again, and lose that outcome. Devices \
      with another outcome, such as "accepted", are not.

          apns-relay retry --id order-4711 order-4712
          apns-relay retry --all

      RUNNING IT TWICE is safe: the second run skips entries that were given back.

      EXIT STATUS: 0 if all dead letters were given back or skipped; 2 if the command \
      line, the configuration or the queue cannot be used.
      """)

  @OptionGroup var place: QueueOptions
  @OptionGroup var letters: LetterOptions

  @Flag(help: "Print the totals as JSON.")
  var json = false

  func validate() throws { try letters.demandSome() }

  func run() throws {
    try RelayCommand.refusing {
      let (place, app) = try place.place()
      let queue = try place.open()
      var report = LetterReport(letters)
      var devices = 0
      var given: Set<String> = []
      try queue.readDeadLetters(app: app, ids: Set(letters.id)) { part in
        // An entry may have become a dead letter again meanwhile.
        let part = part.filter { !given.contains($0.id) }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let done = try queue.retry(part, app: app, at: now)
        for letter in part {
          guard let count = done[letter.number] else {
            report.skip(letter.id, "its outcomes were removed, or a later entry has its ID")
            continue
          }
          report.take(letter.id)
          given.insert(letter.id)
          devices += count
        }
      }
      report.end(
        json, "\(report.entries) entries given back, \(devices) devices", ",\"devices\":\(devices)")
    }
  }
}

struct Discard: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard", abstract: "End dead letters for good.",
    discussion: """
      They are removed, and cannot be given back. Their outcomes stay as long as others.

          apns-relay discard --id order-4711
          apns-relay discard --older-than 30d
          apns-relay discard --all

      The relay does the same after dead_retention.

      EXIT STATUS: 0 if they are removed; 2 if the command line, the configuration or the queue \
      cannot be used.
      """)

  @OptionGroup var place: QueueOptions
  @OptionGroup var letters: LetterOptions

  @Option(help: .of("duration", "Only those that are older, such as 12h or 30d."))
  var olderThan: String?

  @Flag(help: "Print the totals as JSON.")
  var json = false

  func validate() throws {
    try letters.demandSome(olderThan ?? "")
    if let olderThan, DurationText.seconds(olderThan) == nil {
      throw ValidationError("--older-than must be a time such as 12h or 30d, not '\(olderThan)'")
    }
  }

  func run() throws {
    try RelayCommand.refusing {
      let (place, app) = try place.place()
      let queue = try place.open()
      let ageS = olderThan.flatMap { DurationText.seconds($0) } ?? 0
      let limit = Int64((Date().timeIntervalSince1970 - ageS) * 1000)
      var report = LetterReport(letters)
      try queue.readDeadLetters(app: app, ids: Set(letters.id)) { part in
        let old = olderThan == nil ? part : part.filter { $0.at < limit }
        report.entries += try queue.discard(old, app: app)
        for letter in part { report.found.insert(letter.id) }
      }
      report.end(json, "\(report.entries) dead letters discarded")
    }
  }
}

/// The result of a command for the dead letters that its options name.
private struct LetterReport {
  var entries = 0
  var found: Set<String> = []
  private let wanted: [String]
  private var skipped: [(id: String, reason: String)] = []

  init(_ letters: LetterOptions) { wanted = letters.id }

  mutating func take(_ id: String) {
    entries += 1
    found.insert(id)
  }

  mutating func skip(_ id: String, _ reason: String) {
    found.insert(id)
    skipped.append((id, reason))
  }

  /// Prints it. `more` are further JSON members.
  mutating func end(_ isJSON: Bool, _ total: String, _ more: String = "") {
    for id in wanted where !found.contains(id) { skip(id, "not a dead letter") }
    guard !isJSON else {
      let skipped = skipped.map {
        "{\"id\":\(JSONLiteral.string($0.id)),\"reason\":\(JSONLiteral.string($0.reason))}"
      }
      return print(
        "{\"entries\":\(entries)\(more),\"skipped\":[\(skipped.joined(separator: ","))]}")
    }
    for one in skipped { print("\(LineOutput.shown(one.id)): \(one.reason)") }
    print(total)
  }
}
