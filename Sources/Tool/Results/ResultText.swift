/// The help text about the members of an outcome.
enum ResultText {
  static let members = [
    HelpEntry.text(
      "n", "the position of the device in the list, or among the given tokens, from 1"),
    HelpEntry.text("token", "in hex; missing if it is not a token"),
    HelpEntry.text("channel", "the channel of a broadcast, instead of the token"),
    HelpEntry.text(
      "outcome",
      "accepted; rejected, by the service; unknown, if the connection ended before a response; "
        + "expired, by --deadline, and not sent; refused, by this tool, and not sent"),
    HelpEntry.text("reason", "the service's or the tool's reason; missing if accepted"),
    HelpEntry.text(
      "status",
      "if rejected: the status of the binary interface, or the status equivalent to the HTTP/2 "
        + "reason; 8 is a bad token"),
    HelpEntry.text("http_status", "over HTTP/2: the response's status, such as 200 or 410"),
    HelpEntry.text(
      "retry_after",
      "over HTTP/2: the seconds after which to resend it; missing if a resend makes no sense"),
    HelpEntry.text("timestamp", "when the device was found gone (410), in UNIX seconds"),
    HelpEntry.text("time", "when the rejection arrived, in UNIX seconds"),
    HelpEntry.text("apns_id", "over HTTP/2: the notification's ID"),
    HelpEntry.text("request_id", "the ID of a broadcast, instead of apns_id"),
    HelpEntry.text(
      "unique_id",
      "the ID under which Apple's console lists the delivery, see below; missing if the service "
        + "sent none, as in production"),
    HelpEntry.text("again", "true if an earlier run may already have sent it"),
  ].joined(separator: "\n")
}
