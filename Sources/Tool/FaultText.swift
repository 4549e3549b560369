import Simulator

/// The help text about faults and the control API.
enum FaultText {
  /// The width of the text.
  private static let indent = 6
  private static let width = 78

  static var list: String {
    FaultField.groups.map { group in
      "  \(group.title):\n\n"
        + group.fields.map { entry("\($0.name)=\($0.value)", $0.text) }.joined(separator: "\n")
    }.joined(separator: "\n\n")
  }

  static let control = [
    entry("GET /counters", "the totals so far"),
    entry(
      "GET /accepted?from=0&limit=1000",
      "accepted notifications; \"next\" is the start of the next page"),
    entry(
      "GET /connections",
      "open connections to the gateway, with their protocol and their counts"),
    entry(
      "DELETE /connections/N?end=fin",
      "ends connection N: close_notify, fin, reset or stall; default: fin"),
    entry(
      "GET /channels",
      "the broadcast channels, with their subscribers and stored messages"),
    entry("GET /subscriptions", "the channels to which devices subscribe"),
    entry(
      "POST /subscriptions",
      """
      subscribes a device to a channel, {"token": hex, "channel": ID}, and delivers the channel's \
      stored message; DELETE ends the subscription
      """),
    entry(
      "GET /activities",
      "the Live Activities of all devices: state, content, and numbers of updates and of outdated ones"
    ),
    entry("GET /faults", "the faults in force, and the seed"),
    entry("PUT /faults", "replaces the faults: an object, or an array of rules"),
    entry("PATCH /faults", "adds these faults to those in force; null removes one"),
    entry("DELETE /faults", "removes all faults: closed ports open, stalled connections continue"),
    entry("GET /unregistered", "the devices that the feedback service will send"),
    entry(
      "POST /unregistered",
      """
      adds a device, {"token": hex, "timestamp": UNIX seconds}, default: now; over the binary \
      interface pushes to it are accepted; over HTTP/2 they are rejected with "reason", \
      Unregistered (default) or ExpiredToken
      """),
    entry("DELETE /unregistered", "removes all of them"),
    entry(
      "POST /reset",
      "clears counters, accepted, unregistered and Live Activities; faults and channels stay"),
    entry("POST /shutdown", "ends the run"),
  ].joined(separator: "\n")

  /// A name with its meaning below it.
  static func entry(_ name: String, _ text: String) -> String {
    let margin = String(repeating: " ", count: indent)
    var lines = ["    " + name]
    var line = margin
    for word in text.split(separator: " ") {
      if line.count + word.count > width {
        lines.append(line)
        line = margin
      }
      line += line.count == indent ? word : " " + word
    }
    return (lines + [line]).joined(separator: "\n")
  }
}
