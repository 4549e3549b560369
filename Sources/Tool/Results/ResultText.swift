/// The help text about the members of an outcome.
enum ResultText {
  static let members = HelpEntry.list([
    "n": "the position of the device in the list, or among the given tokens, from 1",
    "token": "in hex; missing if it is not a token",
    "channel": "the channel of a broadcast, instead of the token",
    "outcome":
      "accepted; rejected, by the service; unknown, if the connection ended before a response; "
      + "expired, by --deadline, and not sent; refused, by this tool, and not sent",
    "reason": "the service's or the tool's reason; missing if accepted",
    "status":
      "if rejected: the status of the binary interface, or the status equivalent to the HTTP/2 "
      + "reason; 8 is a bad token",
    "http_status": "over HTTP/2: the response's status, such as 200 or 410",
    "retry_after":
      "over HTTP/2: the seconds after which to resend it; missing if a resend makes no sense",
    "timestamp": "when the device was found gone (410), in UNIX seconds",
    "time": "when the rejection arrived, in UNIX seconds",
    "apns_id": "over HTTP/2: the notification's ID",
    "request_id": "the ID of a broadcast, instead of apns_id",
    "unique_id":
      "the ID under which Apple's console lists the delivery, see below; missing if the service "
      + "sent none, as in production",
    "again": "true if an earlier run may already have sent it",
  ])
}
