/// The help text about the members of an outcome.
enum ResultText {
  static let members = [
    entry("n", "the position of the device in the list, or among the given tokens, from 1"),
    entry("token", "in hex; missing if it is not a token"),
    entry("channel", "the channel of a broadcast, instead of the token"),
    entry(
      "outcome",
      "accepted; rejected, by the service; unknown, if the connection ended before a response; "
        + "expired, by --deadline, and not sent; refused, by this tool, and not sent"),
    entry("reason", "the service's or the tool's reason; missing if accepted"),
    entry(
      "status",
      "if rejected: the status of the binary interface, or the status equivalent to the HTTP/2 "
        + "reason; 8 is a bad token"),
    entry("http_status", "over HTTP/2: the response's status, such as 200 or 410"),
    entry(
      "retry_after",
      "over HTTP/2: the seconds after which to resend it; missing if a resend makes no sense"),
    entry("timestamp", "when the device was found gone (410), in UNIX seconds"),
    entry("time", "when the rejection arrived, in UNIX seconds"),
    entry("apns_id", "over HTTP/2: the notification's ID"),
    entry("request_id", "the ID of a broadcast, instead of apns_id"),
    entry(
      "unique_id",
      "the ID under which Apple's console lists the delivery, see below; missing if the service "
        + "sent none, as in production"),
    entry("again", "true if an earlier run may already have sent it"),
  ].joined(separator: "\n")

  private static func entry(_ name: String, _ text: String) -> String {
    FaultText.entry(name, text)
  }
}
