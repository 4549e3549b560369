/// How soon one provider token may follow another.
struct TokenRefreshes: Sendable {
  /// More than any provider uses.
  private static let limit = 1000

  private var good: Set<String> = []
  /// When the newest token was issued.
  private var newest: Int64?

  /// False if it comes too soon after another. A known token does not count as a refresh.
  mutating func take(_ name: String, issued: Int64, renewal: Int64) -> Bool {
    if good.contains(name) { return true }
    if let newest, abs(issued - newest) < renewal { return false }
    if good.count >= Self.limit { good = [] }
    good.insert(name)
    newest = max(newest ?? issued, issued)
    return true
  }

  /// Forgets the newest token once it has expired.
  mutating func expire(_ issued: Int64) {
    if let newest, newest <= issued { self.newest = nil }
  }
}
