import CAPNS

/// A line of a session's log: `apns_log_record_t`.
package struct SessionLine {
  package var level: apns_log_level_t
  package var kind: apns_log_kind_t
  package var cause: apns_cause_t
  package var connection: UInt32
  package var count: UInt64
  package var milliseconds: UInt32
  /// Lines of this kind that were dropped before this one.
  package var leftOut: UInt32
  /// The handshake resumed an earlier TLS session.
  package var isResumed: Bool
  package var peer: String
  package var text: String
}

extension SessionLine {
  /// A line that was read in another program's log.
  package init(
    _ kind: apns_log_kind_t, on connection: UInt32, milliseconds: UInt32, text: String
  ) {
    self.init(
      level: APNS_LOG_TRACE, kind: kind, cause: APNS_CAUSE_NONE, connection: connection, count: 0,
      milliseconds: milliseconds, leftOut: 0, isResumed: false, peer: "", text: text)
  }
}

/// Receives a session's log lines. The session keeps a reference to it.
package final class SessionLines {
  private let level: apns_log_level_t
  private let report: (SessionLine) -> Void

  package init(
    upTo level: apns_log_level_t, _ report: @escaping (SessionLine) -> Void
  ) {
    self.level = level
    self.report = report
  }

  package func register(in options: inout apns_session_options_t) {
    options.log_level = Int32(level.rawValue)
    options.log_context = Unmanaged.passUnretained(self).toOpaque()
    options.log = { record, context in
      guard let record = record?.pointee, let context else { return }
      let lines = Unmanaged<SessionLines>.fromOpaque(context).takeUnretainedValue()
      lines.report(
        SessionLine(
          level: apns_log_level_t(rawValue: UInt32(bitPattern: record.level)),
          kind: apns_log_kind_t(rawValue: UInt32(bitPattern: record.kind)),
          cause: apns_cause_t(rawValue: UInt32(bitPattern: record.cause)),
          connection: record.connection, count: record.count, milliseconds: record.milliseconds,
          leftOut: record.left_out, isResumed: record.resumed != 0,
          peer: record.peer.map { String(cString: $0) } ?? "", text: String(cString: record.line)))
    }
  }
}
