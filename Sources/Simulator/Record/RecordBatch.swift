/// The notifications that a connection has not yet handed to the ledger, the records and the page. It
/// hands them over together, so that a notification does not need a lock.
struct RecordBatch {
  var tally = ConnectionTally()
  var accepted: NotificationLines?
  var ledgerLines: NotificationLines?
  var recentPushes: [RecentPush] = []
  private let ledger: Ledger
  private let records: RecordFiles

  init(_ ledger: Ledger, _ records: RecordFiles) {
    self.ledger = ledger
    self.records = records
    if records.accepted != nil || ledger.keeps > 0 {
      accepted = NotificationLines(hasOutcome: false)
    }
    if records.ledger != nil { ledgerLines = NotificationLines(hasOutcome: true) }
  }

  mutating func begin(_ connection: Int) {
    accepted?.beginBatch(connection: connection)
    ledgerLines?.beginBatch(connection: connection)
  }

  mutating func end(_ connection: Int) {
    ledger.add(&tally, of: connection, ledger.keeps > 0 ? accepted : nil)
    ledger.recentPushes?.add(&recentPushes)
    if let record = records.accepted { accepted?.hand(to: record) } else { accepted?.clear() }
    if let record = records.ledger { ledgerLines?.hand(to: record) }
  }
}
