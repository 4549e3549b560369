import CAPNS

/// Receives a session's log lines. The session keeps it.
package final class SessionLines {
  private let level: apns_log_level_t
  private let tell: (_ level: apns_log_level_t, _ line: String) -> Void

  package init(
    upTo level: apns_log_level_t, _ tell: @escaping (apns_log_level_t, String) -> Void
  ) {
    self.level = level
    self.tell = tell
  }

  package func ask(in options: inout apns_session_options_t) {
    options.log_level = Int32(level.rawValue)
    options.log_context = Unmanaged.passUnretained(self).toOpaque()
    options.log = { record, context in
      guard let record = record?.pointee, let context else { return }
      let lines = Unmanaged<SessionLines>.fromOpaque(context).takeUnretainedValue()
      lines.tell(
        apns_log_level_t(rawValue: UInt32(record.level)), String(cString: record.line))
    }
  }
}
