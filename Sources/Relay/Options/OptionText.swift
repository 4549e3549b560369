/// The lines of a configuration file, each key with its meaning.
struct OptionText {
  var lines: [String] = []
  private var depth = 0
  private var indent: String { String(repeating: "  ", count: depth) }

  mutating func say(_ key: String, _ value: String?, _ meaning: String) {
    let start = indent + "\(key):" + (value.map { " \($0)" } ?? "")
    lines.append(start + String(repeating: " ", count: max(1, 40 - start.count)) + "# \(meaning)")
  }

  mutating func below(_ key: String, _ write: (inout Self) -> Void) {
    lines.append(indent + "\(key):")
    deeper(write)
  }

  mutating func deeper(_ write: (inout Self) -> Void) {
    depth += 1
    write(&self)
    depth -= 1
  }

  static func quoted(_ text: String?) -> String {
    guard let text else { return "" }
    return "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
  }
}
