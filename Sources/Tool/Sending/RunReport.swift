import Client
import JSON

/// The result of a run, as JSON and as text.
struct RunReport {
  let tally: OutcomeCounts
  /// The outcomes of the whole list, including earlier runs.
  let whole: OutcomeCounts
  let elapsed: Double
  var passedOver = 0
  /// The skipped devices without an accepted notification in earlier runs.
  let failedBefore: Int
  let inDoubt: Int
  var isAtMostOnce = false
  /// The same command with --resume would continue.
  var isResumable = false
  var resent = 0
  var failure: String?
  /// The end of the list was reached.
  var isWhole = true
  /// The service was Apple's.
  var isApples = true

  init(_ record: RunRecord) {
    tally = record.tally
    whole = record.whole
    elapsed = record.progress.elapsed
    failedBefore = record.failedBefore
    inDoubt = record.inDoubt
  }

  private var namesConsole: Bool { isApples && tally.hasUniqueIdentifiers }

  var lines: [String] {
    let time = " in " + Self.seconds(elapsed)
    var lines = [
      ProgressLine.counts(whole)
        + (passedOver == 0
          ? time : " of the whole list; in this run \(ProgressLine.counts(tally))" + time)
    ]
    for (reason, count) in whole.reasons.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
      lines.append("  rejected: \(reason), \(Printable.grouped(count))")
    }
    if namesConsole {
      lines.append(
        "Apple's console lists deliveries under their unique IDs: \(AppleConsole.address)")
    }
    if passedOver > 0 {
      lines.append(
        "Skipped: \(Printable.grouped(passedOver)) that already had an outcome"
          + (failedBefore > 0
            ? ", \(Printable.grouped(failedBefore)) of them not accepted" : ""))
    }
    if inDoubt > 0 {
      lines.append(
        isAtMostOnce
          ? "In doubt: \(Printable.grouped(inDoubt)) that an earlier run may have sent; not resent"
          : "In doubt: \(Printable.grouped(inDoubt)) that an earlier run may have sent; "
            + "resent, \(Printable.grouped(tally.again)) accepted now and perhaps before")
    }
    if let failure { lines.append("Error: \(failure)") }
    if !isWhole {
      lines.append(
        isResumable
          ? "The list is not finished: continue with the same command and --resume"
          : "The rest was not sent")
    }
    return lines
  }

  var json: String {
    var totals: JSONMembers = ["done": .flag(isWhole)]
    var run: JSONMembers = [:]
    for kind in SendOutcome.Kind.allCases {
      totals.add(kind.rawValue, .number(whole[kind]))
      run.add(kind.rawValue, .number(tally[kind]))
    }
    var reasons: JSONMembers = [:]
    for (reason, count) in whole.reasons.sorted(by: { $0.key < $1.key }) {
      reasons.add(reason, .number(count))
    }
    totals.add([
      "this_run": .json(run.object), "reasons": .json(reasons.object),
      "passed_over": .number(passedOver), "passed_over_not_accepted": .number(failedBefore),
      "in_doubt": .number(inDoubt), "again": .number(tally.again), "resent": .number(resent),
      "seconds": .json("\((elapsed * 1000).rounded() / 1000)"),
      "console": .text(namesConsole ? AppleConsole.address : nil), "error": .text(failure),
    ])
    return totals.object
  }

  private static func seconds(_ seconds: Double) -> String {
    seconds < 100 ? "\((seconds * 10).rounded() / 10) s" : "\(Int(seconds)) s"
  }
}
