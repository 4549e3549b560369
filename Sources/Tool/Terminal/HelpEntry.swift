/// An entry of a list in a help text.
enum HelpEntry {
  private static let indent = 6
  private static let width = 78

  /// A name with its meaning below it.
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
