import APNSLibrary

/// What a run came to, for machines and for people.
struct RunReport {
  var tally: OutcomeCounts
  var elapsed: Double
  var passedOver = 0
  /// Of those passed over: what earlier runs did not get accepted.
  var failedBefore = 0
  var inDoubt = 0
  var isAtMostOnce = false
  /// The same command with --resume would go on.
  var isResumable = false
  var resent = 0
  var failure: String?
  /// The list came to its end.
  var isWhole = true

  init(tally: OutcomeCounts, elapsed: Double) {
    self.tally = tally
    self.elapsed = elapsed
  }

  var lines: [String] {
    var lines = [ProgressLine.counts(tally) + " in " + Self.seconds(elapsed)]
    for (reason, count) in tally.reasons.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
      lines.append("  rejected: \(reason), \(OutcomeCounts.grouped(count))")
    }
    if tally.hasUniqueIdentifiers {
      lines.append("Apple's console finds a delivery by its unique id: \(AppleConsole.address)")
    }
    if passedOver > 0 {
      lines.append(
        "Skipped: \(OutcomeCounts.grouped(passedOver)) that already had an outcome"
          + (failedBefore > 0
            ? ", \(OutcomeCounts.grouped(failedBefore)) of them not accepted" : ""))
    }
    if inDoubt > 0 {
      lines.append(
        isAtMostOnce
          ? "In doubt: \(OutcomeCounts.grouped(inDoubt)) that an earlier run may have sent; not sent again"
          : "In doubt: \(OutcomeCounts.grouped(inDoubt)) that an earlier run may have sent; sent again, "
            + "\(OutcomeCounts.grouped(tally.again)) accepted now and perhaps earlier too")
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
    var totals = JSONMembers()
    totals.add("done", json: isWhole ? "true" : "false")
    for kind in [SendOutcome.Kind.accepted, .rejected, .unknown, .refused] {
      totals.add(kind.rawValue, number: tally[kind])
    }
    var reasons = JSONMembers()
    for (reason, count) in tally.reasons.sorted(by: { $0.key < $1.key }) {
      reasons.add(reason, number: count)
    }
    totals.add("reasons", json: reasons.object)
    totals.add("passed_over", number: passedOver)
    totals.add("passed_over_not_accepted", number: failedBefore)
    totals.add("in_doubt", number: inDoubt)
    totals.add("again", number: tally.again)
    totals.add("resent", number: resent)
    totals.add("seconds", json: "\((elapsed * 1000).rounded() / 1000)")
    if tally.hasUniqueIdentifiers { totals.add("console", text: AppleConsole.address) }
    if let failure { totals.add("error", text: failure) }
    return totals.object
  }

  private static func seconds(_ seconds: Double) -> String {
    seconds < 100 ? "\((seconds * 10).rounded() / 10) s" : "\(Int(seconds)) s"
  }
}
