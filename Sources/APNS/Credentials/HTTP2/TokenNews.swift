import CAPNS
import CSystem

/// What a log is told after a session asked for a provider token.
struct TokenNews {
  enum Origin {
    /// There is no other token than before.
    case none
    case signed
    case cache
    case host
  }
  var origin = Origin.none
  /// Why the token_cache_file cannot be used; nil: it can, or there is none.
  private(set) var cacheFault: StaticString?
  private(set) var systemError: CInt = 0

  /// Takes note of the first thing that is wrong with the cache. `isOfSystem`: errno says more.
  mutating func note(_ fault: StaticString, isOfSystem: Bool = false) {
    guard cacheFault == nil else { return }
    systemError = isOfSystem ? csystem_errno() : 0
    cacheFault = fault
  }
}

extension BearerText {
  /// Says what became of the token. Whoever says it holds no lock: the log's callback is the host's.
  @inline(never)
  func tell(_ news: TokenNews) {
    guard let log else { return }
    let said = log.at(Deadline.now)
    if let fault = news.cacheFault {
      let systemError = news.systemError
      if said.begin(LogLine(APNS_LOGGED_CACHE, APNS_LOG_WARNING)) {
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
    switch news.origin {
    case .none: return
    case .signed: origin = "signed here"
    case .cache: origin = "from the token_cache_file"
    case .host: origin = "from the host"
    }
    if said.begin(LogLine(APNS_LOGGED_TOKEN, APNS_LOG_INFO)) {
      said.pointee.words.append("another provider token, ")
      said.pointee.words.append(origin)
      said.put()
    }
  }
}
