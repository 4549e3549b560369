import ArgumentParser
import CommandOptions
import Foundation
import Relay

struct Outcomes: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outcomes", abstract: "Print the notifications' outcomes.",
    discussion: """
      One line for each notification, in the order in which they were recorded: time, ID and \
      position, outcome, HTTP status and reason, token.

          apns-relay outcomes --only rejected,dead
          apns-relay outcomes --id order-4711
          apns-relay outcomes --follow --json | ./reader

      With --json a line is an object with the names of the queue's columns. A reader remembers the \
      last "number", and continues behind it by --from. In Redis several lines have one number, so \
      a reader that was killed gets some of them again.

      No relay needs to run, and none is blocked. With --follow it waits for new outcomes, until \
      SIGINT, SIGTERM or the end of the pipe.

      EXIT STATUS: 0; 2 if the command line, the configuration or the queue cannot be used.
      """)

  @OptionGroup var place: QueueOptions

  @Option(parsing: .upToNextOption, help: .of("id", "Only those of these IDs."))
  var id: [String] = []

  @Option(
    help: .of(
      "outcomes",
      "Only these, such as rejected,dead: accepted, rejected, expired, refused, dead, unknown, or gone (HTTP status 410)."
    ))
  var only: String?

  @Option(help: .of("number", "Only those behind this number."))
  var from = "0"

  @Flag(help: "Wait for new outcomes.")
  var follow = false

  @Flag(help: "Print a JSON object for each.")
  var json = false

  private static let pauseMS: Int32 = 200
  private static let pauseOfTroubleMS: Int32 = 1000

  func validate() throws { _ = try filter() }

  private func filter() throws -> OutcomeFilter {
    var filter = OutcomeFilter()
    if let only {
      do throws(OutcomeFilter.UnknownWord) {
        filter = try OutcomeFilter(
          only: only.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
      } catch {
        throw ValidationError("--only has \(OutcomeFilter.words), not '\(error.word)'")
      }
    }
    filter.ids = Set(id)
    return filter
  }

  func run() throws { try RelayCommand.refusing(read) }

  private func read() throws {
    let filter = try filter()
    let (queue, app) = try place.place()
    let reader = try queue.openForReading()
    let output = LineOutput(isEndless: follow)
    var (last, hasRead, isInTrouble) = (from, false, false)
    while true {
      do {
        let page = try reader.outcomes(filter, app: app, after: last)
        (last, hasRead, isInTrouble) = (page.last, true, false)
        for row in page.rows { output.add(json ? row.json(app: app) : Self.text(row)) }
        try output.write()
        guard page.isEnd else { continue }
        guard follow else { return }
        output.wait(Self.pauseMS)
      } catch let fault as RelayFault where follow && hasRead && !fault.isFinal {
        if !isInTrouble { RelayCommand.report("\(fault); it tries again") }
        isInTrouble = true
        output.wait(Self.pauseOfTroubleMS)
      }
    }
  }

  private static func text(_ row: OutcomeRow) -> String {
    let outcome = row.outcome
    let status = outcome.httpStatus == 0 ? [] : ["\(outcome.httpStatus)"]
    let cause = (status + (outcome.reason.isEmpty ? [] : [outcome.reason])).joined(separator: " ")
    let parts = [
      TimeText.of(row.at), "\(row.id)/\(outcome.position)", outcome.kind.rawValue, cause,
      outcome.token.text,
    ]
    return parts.map { LineOutput.shown($0) }.joined(separator: "  ")
  }
}
