/// Consecutive outcomes that one request tells.
struct WebhookBatch: Equatable {
  /// The number before the first one, and that of the last one. Outcomes between them that the
  /// webhook does not tell belong to the batch.
  var from: String
  var last: String
  var rows: [OutcomeRow]

  /// The first `most` outcomes of a page, but all with the same number, as in a Redis record.
  /// A batch that was begun ends at `end`, even if later outcomes would fit.
  init(_ page: OutcomePage, after from: String, most: Int, end: String?) {
    self.from = from
    var (rows, last) = (page.rows, page.last)
    if let end, OutcomeNumber(end).isBehind(OutcomeNumber(from)),
      OutcomeNumber(last).isBehind(OutcomeNumber(end))
    {
      rows.removeAll { OutcomeNumber($0.number).isBehind(OutcomeNumber(end)) }
      last = end
    } else if rows.count > most {
      last = rows[most - 1].number
      rows.removeAll { OutcomeNumber($0.number).isBehind(OutcomeNumber(last)) }
    }
    (self.rows, self.last) = (rows, last)
  }

  /// The outcomes of the page that follow; nil without any.
  func rest(of page: OutcomePage) -> OutcomePage? {
    var rest = page
    rest.rows.removeAll { !OutcomeNumber($0.number).isBehind(OutcomeNumber(last)) }
    return rest.rows.isEmpty ? nil : rest
  }
}

/// The number of an outcome: one number in SQLite, two in Redis.
private struct OutcomeNumber {
  private let parts: (UInt64, UInt64)

  init(_ text: String) {
    let words = text.split(separator: "-").map { UInt64($0) ?? 0 }
    parts = (words.first ?? 0, words.count > 1 ? words[1] : 0)
  }

  func isBehind(_ other: Self) -> Bool { parts > other.parts }
}
