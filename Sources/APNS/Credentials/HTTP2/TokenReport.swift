import CAPNS
import CSystem

/// Results of getting a provider token, for the log.
struct TokenReport {
  enum Origin {
    /// The token has not changed.
    case none
    case signed
    case cache
    case host
  }
  var origin = Origin.none
  /// The file is the default one, whose failures are not reported.
  var isQuiet = false
  /// Why the token_cache_file cannot be used; nil if it can, or is not set.
  private(set) var cacheFault: StaticString?
  private(set) var systemError: CInt = 0

  /// Notes the cache's first fault. `isOfSystem`: errno has more.
  mutating func note(_ fault: StaticString, isOfSystem: Bool = false) {
    guard cacheFault == nil, !isQuiet else { return }
    systemError = isOfSystem ? csystem_errno() : 0
    cacheFault = fault
  }
}

extension BearerText {
  /// Logs the results. The caller must hold no lock: the log's callback is the application's.
  @inline(never)
  func log(_ report: TokenReport) {
    guard let log else { return }
    let said = log.at(Deadline.now)
    if let fault = report.cacheFault {
      let systemError = report.systemError
      if said.begin(LogLine(APNS_LOG_KIND_CACHE, APNS_LOG_WARNING)) {
        said.pointee.words.append("the token_cache_file is not used: ")
        said.pointee.words.append(fault)
        if systemError != 0 {
          said.pointee.words.append(": ")
          said.pointee.words.append(systemError: systemError)
        }
        said.put()
      }
    }
    let origin: StaticString
    switch report.origin {
    case .none: return
    case .signed: origin = "signed here"
    case .cache: origin = "from the token_cache_file"
    case .host: origin = "from the host"
    }
    if said.begin(LogLine(APNS_LOG_KIND_TOKEN, APNS_LOG_INFO)) {
      said.pointee.words.append("another provider token, ")
      said.pointee.words.append(origin)
      said.put()
    }
  }
}
