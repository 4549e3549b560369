import CAPNS
import CSystem

/// Which outcomes the caller gets, and whether accepted ones wait until they are taken.
enum Reporting {
  /// All. Accepted ones give way if there is no room.
  case all
  /// All, and each waits until it is taken.
  case each
  /// All but the accepted ones.
  case failures

  init?(_ given: Int32) {
    switch UInt32(bitPattern: given) {
    case APNS_OUTCOMES_ALL.rawValue: self = .all
    case APNS_OUTCOMES_EACH.rawValue: self = .each
    case APNS_OUTCOMES_FAILURES.rawValue: self = .failures
    default: return nil
    }
  }
}

/// Handles outcomes that the caller does not take, and their user data. A session has one, which
/// its windows share; it stays at one address.
struct Untaken {
  let reporting: Reporting
  fileprivate let release: apns_user_data_free_t?
  /// How many accepted ones gave way.
  fileprivate(set) var forgotten: UInt64 = 0
  /// Nil without a log.
  fileprivate let log: UnsafeMutablePointer<SessionLog>?
}

extension UnsafeMutablePointer<Untaken> {
  static func make(
    _ reporting: Reporting, release: apns_user_data_free_t? = nil,
    log: UnsafeMutablePointer<SessionLog>? = nil
  ) -> Self? {
    guard let memory = malloc(MemoryLayout<Untaken>.size) else { return nil }
    let untaken = memory.bindMemory(to: Untaken.self, capacity: 1)
    untaken.initialize(to: Untaken(reporting: reporting, release: release, log: log))
    return untaken
  }

  func end() { free(self) }

  @inline(__always)
  var releases: Bool { pointee.release != nil }

  /// Frees user data that the caller does not get back.
  @inline(__always)
  func release(_ userData: UnsafeMutableRawPointer?) {
    if let userData, let release = pointee.release { release(userData) }
  }

  /// `count` accepted outcomes give way.
  func forget(_ count: Int) {
    if pointee.forgotten == 0 { pointee.log?.forgetting() }
    pointee.forgotten &+= UInt64(count)
  }
}

extension UnsafeMutablePointer<SessionLog> {
  /// Accepted outcomes give way because the caller does not take them.
  @inline(never)
  fileprivate func forgetting() {
    var line = LogLine(APNS_LOG_KIND_FORGOTTEN, APNS_LOG_WARNING)
    line.count = 1
    guard begin(line) else { return }
    pointee.words.append(
      """
      outcomes of accepted notifications are forgotten, because they fill the window and nobody takes \
      them: take them, or set the option outcomes to each or to failures
      """)
    put()
  }
}
