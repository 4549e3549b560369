/// The files that record notifications.
struct RecordFiles {
  var accepted: RecordFile?
  var ledger: RecordFile?
}
