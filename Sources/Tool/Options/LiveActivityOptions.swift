import ArgumentParser
import CommandOptions
import Glibc
import JSON

enum LiveActivityEvent: String, CaseIterable, ExpressibleByArgument {
  case start, update, end
}

/// A Live Activity's payload in options. The other payload options make its alert.
struct LiveActivityOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Start, update or end a Live Activity. This sets push type and topic; --title, --alert and \
      --sound, or --title-loc-key and --loc-key, make its alert.
      """, valueName: "event"))
  var liveActivity: LiveActivityEvent?

  @Option(
    help: .of("file", "The activity's new state: a file with a JSON object, or the object itself."),
    completion: .file(extensions: ["json"]))
  var contentState: String?

  @Option(
    help: ArgumentHelp(
      """
      The time of this state: devices ignore older ones. UNIX seconds, a date and time, or \
      +seconds from now. Default: now.
      """, valueName: "time"))
  var timestamp: String?

  @Option(help: .of("time", "When the state counts as outdated."))
  var staleDate: String?

  @Option(
    help: .of(
      "time", "When an ended activity is removed; a time in the past removes it immediately."))
  var dismissalDate: String?

  @Option(help: .of("number", "The app's activity with the highest score is shown first."))
  var relevanceScore: String?

  @Option(help: .of("name", "To start: the app's attributes type."))
  var attributesType: String?

  @Option(
    help: .of("file", "To start: the attributes, a file with a JSON object, or the object itself."),
    completion: .file(extensions: ["json"]))
  var attributes: String?

  @Flag(help: "To start: request a separate token for updates.")
  var inputPushToken = false

  @Option(help: .of("id", "To start: the channel for its updates."))
  var inputPushChannel: String?

  private var times: [(name: String, text: String?)] {
    [("--timestamp", timestamp), ("--stale-date", staleDate), ("--dismissal-date", dismissalDate)]
  }

  private var forStart: [(name: String, isThere: Bool)] {
    [
      ("--attributes-type", attributesType != nil), ("--attributes", attributes != nil),
      ("--input-push-token", inputPushToken), ("--input-push-channel", inputPushChannel != nil),
    ]
  }

  func validate() throws {
    guard let event = liveActivity else {
      let given =
        [("--content-state", contentState != nil), ("--relevance-score", relevanceScore != nil)]
        + times.map { ($0.name, $0.text != nil) } + forStart.map { ($0.name, $0.isThere) }
      if let first = given.first(where: { $0.1 }) {
        throw ValidationError(
          "\(first.0) is for a Live Activity: add --live-activity start, update or end")
      }
      return
    }
    if contentState == nil, event != .end {
      throw ValidationError("--live-activity \(event.rawValue) needs --content-state")
    }
    if event == .start {
      for (name, isThere) in forStart.prefix(2) where !isThere {
        throw ValidationError("--live-activity start needs \(name)")
      }
      if inputPushToken, inputPushChannel != nil {
        throw ValidationError(
          "give either --input-push-token or --input-push-channel, not both")
      }
    } else if let first = forStart.first(where: { $0.isThere }) {
      throw ValidationError("\(first.name) is for --live-activity start only")
    }
    if event != .end, dismissalDate != nil {
      throw ValidationError("--dismissal-date is for --live-activity end only")
    }
    if contentState == "-", attributes == "-" {
      throw ValidationError("standard input cannot be both --content-state and --attributes")
    }
    if let id = inputPushChannel, ChannelID(id.utf8) == nil, !Placeholder.isWhole(id) {
      throw ValidationError("--input-push-channel: '\(id)' \(ChannelID.fault)")
    }
    if let score = relevanceScore, Double(score)?.isFinite != true, !Placeholder.isWhole(score) {
      throw ValidationError("--relevance-score must be a number, or {{field}} of the list")
    }
    for (name, text) in times {
      if let text, let fault = ActivityTime.fault(text) {
        throw ValidationError("\(name) \(fault)")
      }
    }
  }

  var readsStandardInput: Bool { contentState == "-" || attributes == "-" }

  /// The payload with this alert, as JSON. Without `now` it is the same for every run.
  func json(
    _ payload: PayloadOptions, contentState: String?, attributes: String?, now: Int64?
  ) -> String {
    payload.whole([
      "timestamp": .json(ActivityTime.written(timestamp ?? "+0", now)),
      "event": .text(liveActivity?.rawValue), "content-state": .json(contentState),
      "stale-date": .json(staleDate.map { ActivityTime.written($0, now) }),
      "dismissal-date": .json(dismissalDate.map { ActivityTime.written($0, now) }),
      "relevance-score": .json(relevanceScore), "attributes-type": .text(attributesType),
      "attributes": .json(attributes), "input-push-token": .json(inputPushToken ? "1" : nil),
      "input-push-channel": .text(inputPushChannel), "alert": .json(payload.activityAlert),
    ])
  }
}

/// A time in a Live Activity's payload, as typed.
enum ActivityTime {
  /// The reason why the text is not a time; nil if it is.
  static func fault(_ text: String) -> String? {
    if Placeholder.isWhole(text) { return nil }
    guard let seconds = seconds(text, now: 0) else {
      return "must be UNIX seconds, a date and time, +seconds from now, or {{field}} of the list"
    }
    if seconds > 99_999_999_999 { return "'\(text)' looks like milliseconds: give seconds" }
    guard seconds < 1_000_000_000, text != "0", text.allSatisfy(\.isNumber) else { return nil }
    return seconds < 500_000_000
      ? "'\(text)' looks like a duration: give +\(text), from now"
      : "'\(text)' looks like seconds since 2001: give \(seconds + 978_307_200)"
  }

  /// A relative time stays as typed if `now` is nil.
  static func written(_ text: String, _ now: Int64?) -> String {
    guard let now else { return text }
    return seconds(text, now: now).map { "\($0)" } ?? text
  }

  private static func seconds(_ text: String, now: Int64) -> Int64? {
    guard text.first == "+" else { return Clock.read(Array(text.utf8)) }
    guard let more = UInt32(text.dropFirst()) else { return nil }
    return now + Int64(more)
  }
}
