/// The bad tokens of a queue's apps, and what decides about them.
package protocol BadTokenStore: AnyObject, Sendable {
  /// Up to `most` recorded bad tokens with a higher number than this, by number. A token that is
  /// rejected again gets a new number.
  func badTokens(app: String, after number: Int64, most: Int) throws -> [BadToken]
  /// Records tokens as bad, and queues them for the feedback service.
  func recordBadTokens(_ devices: [GoneToken], app: String, at now: Int64) throws
  /// Removes bad tokens that were recorded before this time.
  func forgetBadTokens(before: Int64) throws -> Int
  /// Up to `most` devices to report through the app's feedback service, oldest first.
  func feedback(app: String, most: Int) throws -> [GoneToken]
  /// Removes reported devices. A device that was recorded again since, with a later time, stays.
  func forgetFeedback(_ told: [GoneToken], app: String) throws
  /// The last `most` recorded responses, oldest first.
  func lastResponses(app: String, most: Int) throws -> [RecordedResponse]
}

/// A token that APNs rejected permanently.
package struct BadToken: Equatable, Sendable {
  package var number: Int64
  /// The token in hex, as it was recorded.
  package var token: String
  /// UNIX milliseconds.
  package var at: Int64
}

/// A device without the app, and the UNIX second since when. The app was removed, or never
/// installed.
package struct GoneToken: Equatable, Sendable {
  package var token: String
  package var since: Int64
}

/// A recorded response of APNs.
package struct RecordedResponse: Equatable, Sendable {
  package var httpStatus: Int
  package var reason: String
}
