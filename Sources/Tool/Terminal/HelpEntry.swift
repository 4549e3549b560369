/// An entry of a list in a help text.
enum HelpEntry {
  private static let indent = 6
  private static let width = 78

  /// Each name with its meaning below it.
  static func list(_ entries: KeyValuePairs<String, String>) -> String {
    entries.map { text($0.key, $0.value) }.joined(separator: "\n")
  }

  static func text(_ name: String, _ text: String) -> String {
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
