/// A source of provider tokens for HTTP/2 sessions. The source knows the time; a session only keeps
/// a copy of the token that it last fetched.
protocol TokenSource: ~Copyable {
  /// Brings the copy up to date, before each request. Costs next to nothing when it is.
  func update(_ text: inout BearerText) throws(Failure)

  /// Called after APNs refused the token of that generation as expired. False if there is no other:
  /// the last one was replaced for the same reason not long ago.
  func replace(_ text: inout BearerText, refused generation: UInt32) throws(Failure) -> Bool
}
