import ArgumentParser
import CommandOptions

struct Record: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a recording of a provider's log, for apns simulate --replay.",
    usage: "apns record <log>",
    discussion: """
      The bad day of a provider that logs its session at the level trace, played again:

          apns record provider.log > day.jsonl
          apns simulate --replay day.jsonl

      In the log each line of the session follows a time with milliseconds, or is a text in a line \
      of JSON that has one:

          2026-11-29T14:00:00.043Z connection 1: > HEADERS, stream 1, to 5f79cfda…

      Other lines do not matter, except for reasons of rejections, which the session does not log:

          2026-11-29T14:00:00.087Z 5f79cfda answered 410 Unregistered

      A log with several sessions at the same time needs a selection, such as \
      grep '"app":"chess"' relay.log | apns record -. A device is recorded as the hash of a random \
      key and the 8 digits in the log.

      EXIT STATUS: 0 if the recording was made; 2 if the command line or the log cannot be used.
      """)

  @Argument(
    help: .of("log", "The log; - reads standard input."), completion: .file())
  var log: String

  func run() throws {
    try Exit.refusing { try LogRecording(.recording("-")).read(log) }
  }
}
