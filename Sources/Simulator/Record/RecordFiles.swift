/// The files that notifications are recorded in.
struct RecordFiles {
  var accepted: RecordFile?
  var ledger: RecordFile?
}
