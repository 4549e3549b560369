/// How soon one provider token may follow another.
struct TokenRenewals: Sendable {
  /// More than anyone uses.
  private static let most = 1000

  private var good: Set<String> = []
  /// When the newest one was issued.
  private var newest: Int64?

  /// False if it comes too soon after another. A known token does not count as a refresh.
  mutating func take(_ name: String, issued: Int64, renewal: Int64) -> Bool {
    if good.contains(name) { return true }
    if let newest, abs(issued - newest) < renewal { return false }
    if good.count >= Self.most { good = [] }
    good.insert(name)
    newest = max(newest ?? issued, issued)
    return true
  }

  /// The newest one has expired.
  mutating func expire(_ issued: Int64) {
    if let newest, newest <= issued { self.newest = nil }
  }
}
