/// The help text about the members of an outcome.
enum ResultText {
  static let members = [
    entry("n", "the position of the device in the list, or among the given tokens, from 1"),
    entry("token", "in hex; missing if it is not a token"),
    entry("channel", "in place of the token: the channel of a broadcast"),
    entry(
      "outcome",
      "accepted; rejected, by the service; unknown, if the connection ended before an answer; "
        + "refused, by this tool, and not sent"),
    entry("reason", "why, in the service's words or in the tool's; missing if accepted"),
    entry(
      "status",
      "of a rejected one: the status of the binary interface, or the one that corresponds to the "
        + "HTTP/2 reason; 8 is a bad token"),
    entry("http_status", "over HTTP/2: the status of the answer, such as 200 or 410"),
    entry(
      "retry_after",
      "over HTTP/2: after how many seconds it may be sent again; missing where there is no point "
        + "in that"),
    entry("timestamp", "when the device was gone (410), in UNIX seconds"),
    entry("time", "when the rejection arrived, in UNIX seconds"),
    entry("apns_id", "over HTTP/2: the notification's identifier"),
    entry("request_id", "in place of apns_id: the identifier of a broadcast"),
    entry(
      "unique_id",
      "by this Apple's console finds the delivery, see below; missing where the service gave none, "
        + "as in production"),
    entry("again", "true if an earlier run may already have sent it"),
  ].joined(separator: "\n")

  private static func entry(_ name: String, _ text: String) -> String {
    FaultText.entry(name, text)
  }
}
