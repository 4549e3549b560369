/// The provider tokens that the relays on a queue share.
package protocol ProviderTokenStore: AnyObject, Sendable {
  /// The provider token of a key, shared by all relays on the queue. If none was made after
  /// `oldest`, one relay makes a new one and blocks no other call. If it has not finished within
  /// `makingMS`, another relay takes over.
  func providerToken(
    team: String, key: String, madeAfter oldest: Int64, at now: Int64, within makingMS: Int64,
    make: () throws -> SharedToken
  ) throws -> SharedToken
}

package struct SharedToken: Equatable, Sendable {
  package var text: String
  /// UNIX milliseconds.
  package var made: Int64

  /// The tolerated difference between clocks.
  private static let toleranceMS: Int64 = 2000

  /// A token from the future is not trusted: the clock was set back.
  package func isFresh(after oldest: Int64, at now: Int64) -> Bool {
    made > oldest && made <= now + Self.toleranceMS
  }
}
