/// How soon one provider token may follow another.
struct TokenRenewals: Sendable {
  /// More than anyone has in use.
  private static let most = 1000

  private var good: Set<String> = []
  /// When the newest of them was issued.
  private var newest: Int64?

  /// False where it comes too soon after another. One that was taken before is no renewal.
  mutating func take(_ name: String, issued: Int64, renewal: Int64) -> Bool {
    if good.contains(name) { return true }
    if let newest, abs(issued - newest) < renewal { return false }
    if good.count >= Self.most { good = [] }
    good.insert(name)
    newest = max(newest ?? issued, issued)
    return true
  }

  /// The newest of them is too old to be used.
  mutating func expire(_ issued: Int64) {
    if let newest, newest <= issued { self.newest = nil }
  }
}
