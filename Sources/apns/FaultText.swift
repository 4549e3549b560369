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
      "those that are open to the gateway, in which protocol, and what each brought"),
    entry(
      "DELETE /connections/N?end=fin",
      "ends connection N: close_notify, fin, reset or stall; fin where not said"),
    entry("GET /faults", "the faults in force, and the seed"),
    entry("PUT /faults", "these faults and no others, an object or an array of rules"),
    entry("PATCH /faults", "these faults beside those in force; null takes one back"),
    entry("DELETE /faults", "no faults: a shut port opens, what was stalled goes on"),
    entry("GET /unregistered", "the devices that the feedback service will tell of"),
    entry(
      "POST /unregistered",
      """
      one more, {"token": hex, "timestamp": UNIX seconds}, now where there is no timestamp; pushes \
      to it are accepted, but over HTTP/2, where "reason", Unregistered where not set, or \
      ExpiredToken answers them
      """),
    entry("DELETE /unregistered", "none any more"),
    entry("POST /reset", "forgets counters, accepted and unregistered; faults stay"),
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
