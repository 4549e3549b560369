import Simulator

/// The help text about faults and the control API.
enum FaultText {
  static var list: String {
    FaultField.groups.map { group in
      "  \(group.title):\n\n"
        + group.fields.map { HelpEntry.text("\($0.name)=\($0.value)", $0.text) }.joined(
          separator: "\n")
    }.joined(separator: "\n\n")
  }

  static let control = [
    HelpEntry.text("GET /counters", "the totals so far"),
    HelpEntry.text(
      "GET /accepted?from=0&limit=1000",
      "accepted notifications; \"next\" is the start of the next page"),
    HelpEntry.text(
      "GET /connections",
      "open connections to the gateway, with their protocol and their counts"),
    HelpEntry.text(
      "DELETE /connections/N?end=fin",
      "ends connection N: close_notify, fin, reset or stall; default: fin"),
    HelpEntry.text(
      "GET /channels",
      "the broadcast channels, with their subscribers and stored messages"),
    HelpEntry.text("GET /subscriptions", "the channels to which devices subscribe"),
    HelpEntry.text(
      "POST /subscriptions",
      """
      subscribes a device to a channel, {"token": hex, "channel": ID}, and delivers the channel's \
      stored message; DELETE ends the subscription
      """),
    HelpEntry.text(
      "GET /activities",
      "the Live Activities of all devices: state, content, and numbers of updates and of outdated ones"
    ),
    HelpEntry.text("GET /faults", "the faults in force, and the seed"),
    HelpEntry.text("PUT /faults", "replaces the faults: an object, or an array of rules"),
    HelpEntry.text("PATCH /faults", "adds these faults to those in force; null removes one"),
    HelpEntry.text(
      "DELETE /faults", "removes all faults: closed ports open, stalled connections continue"),
    HelpEntry.text("GET /unregistered", "the devices that the feedback service will send"),
    HelpEntry.text(
      "POST /unregistered",
      """
      adds a device, {"token": hex, "timestamp": UNIX seconds}, default: now; over the binary \
      interface pushes to it are accepted; over HTTP/2 they are rejected with "reason", \
      Unregistered (default) or ExpiredToken
      """),
    HelpEntry.text("DELETE /unregistered", "removes all of them"),
    HelpEntry.text(
      "POST /reset",
      "clears counters, accepted, unregistered and Live Activities; faults and channels stay"),
    HelpEntry.text("POST /shutdown", "ends the run"),
  ].joined(separator: "\n")
}
