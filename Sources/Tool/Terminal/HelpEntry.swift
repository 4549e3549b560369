/// An entry of a list in a help text.
enum HelpEntry {
  private static let indent = 6
  private static let columns = 79

  /// Each name with its meaning below it.
  static func list(_ entries: KeyValuePairs<String, String>) -> String {
    entries.map { text($0.key, $0.value) }.joined(separator: "\n")
  }

  static func text(_ name: String, _ text: String) -> String {
    "    \(name)\n" + String(repeating: " ", count: indent)
      + Printable.wrapped(text, indent: indent, columns: columns)
  }
}
