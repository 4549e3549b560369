/// Values that the relays on a queue share.
package protocol AppStateStore: AnyObject, Sendable {
  /// A value about an app; nil if it is not set.
  func appState(_ name: String, app: String) throws -> String?
  func setAppState(_ name: String, _ text: String?, app: String) throws
  /// Replaces the value if it still is `old`; false otherwise.
  func replaceAppState(_ name: String, _ old: String?, by text: String, app: String) throws -> Bool
}
