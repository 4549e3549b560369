import Simulator

/// The help text about faults and the control interface.
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
      "accepted notifications; \"next\" is where the next page begins"),
    entry(
      "GET /connections",
      "open connections to the gateway, with their protocol and what each has sent"),
    entry(
      "DELETE /connections/N?end=fin",
      "ends connection N: close_notify, fin, reset or stall; default: fin"),
    entry(
      "GET /channels",
      "the broadcast channels, with their subscribers and what is stored for later ones"),
    entry("GET /subscriptions", "which devices subscribe to which channels"),
    entry(
      "POST /subscriptions",
      """
      a device subscribes to a channel, {"token": hex, "channel": identifier}, and is sent what \
      the channel has stored; DELETE ends that
      """),
    entry(
      "GET /activities",
      "the Live Activities of all devices: state, content, updates, and how many came out of order"
    ),
    entry("GET /faults", "the faults in force, and the seed"),
    entry("PUT /faults", "replaces the faults: an object, or an array of rules"),
    entry("PATCH /faults", "adds these faults to those in force; null removes one"),
    entry("DELETE /faults", "removes all faults: a closed port opens, what was stalled goes on"),
    entry("GET /unregistered", "the devices that the feedback service will report"),
    entry(
      "POST /unregistered",
      """
      adds a device, {"token": hex, "timestamp": UNIX seconds}, default: now; over the binary \
      interface pushes to it are accepted; over HTTP/2 they are answered with "reason", \
      Unregistered (default) or ExpiredToken
      """),
    entry("DELETE /unregistered", "removes all of them"),
    entry(
      "POST /reset",
      "forgets counters, accepted, unregistered and Live Activities; faults and channels stay"),
    entry("POST /shutdown", "ends the run"),
  ].joined(separator: "\n")

  /// A name and, below it, its meaning.
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
