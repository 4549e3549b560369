/// The help text about the members of an outcome.
enum ResultText {
  static let members = [
    entry("n", "the device's place in the list, or among the tokens named, from 1"),
    entry("token", "in hex; left out where it is none"),
    entry(
      "outcome",
      "accepted; rejected, by the service; unknown, where the connection ended before its word; "
        + "refused, here, and not sent"),
    entry("reason", "why, in the service's words or in the tool's; left out of accepted ones"),
    entry(
      "status",
      "of a rejected one: the binary interface's status, or the one that says the same as "
        + "HTTP/2's reason; 8 is a bad token"),
    entry("http_status", "over HTTP/2: that of the answer, such as 200 or 410"),
    entry("timestamp", "since when the device is gone (410), in UNIX seconds"),
    entry("time", "when the rejection was heard of, in UNIX seconds"),
    entry("apns_id", "over HTTP/2: the notification's"),
    entry("again", "true where an earlier run may have sent it already"),
  ].joined(separator: "\n")

  private static func entry(_ name: String, _ text: String) -> String {
    FaultText.entry(name, text)
  }
}
