/// The user's file of profiles: sections in brackets, each with long options without their hyphens.
///
///     [default]
///     p8 = AuthKey_ABCDE12345.p8
///     team-id = TEAM123456
///     topic = com.example.app
struct ProfileFile {
  let path: String
  private(set) var sections: [String: [DefaultOption: String]] = [:]

  /// $XDG_CONFIG_HOME/apns/config, which is in ~/.config by default.
  static var path: String? {
    if let directory = Environment.value("XDG_CONFIG_HOME"), directory.hasPrefix("/") {
      return directory + "/apns/config"
    }
    return Environment.value("HOME").map { $0 + "/.config/apns/config" }
  }

  init(_ path: String) throws(FileFault) {
    self.path = path
    let text = String(decoding: try WholeText.readText(path), as: UTF8.self)
    var section: String?
    for (index, raw) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .enumerated()
    {
      func fault(_ message: String) -> FileFault {
        FileFault(path: path, line: index + 1, message: message)
      }
      let line = Self.trimmed(raw)
      if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
      if line.hasPrefix("[") {
        let name = Self.trimmed(line.dropFirst().dropLast())
        guard line.hasSuffix("]"), !name.isEmpty else { throw fault("a profile is [NAME]") }
        guard sections[name] == nil else { throw fault("duplicate profile '\(name)'") }
        sections[name] = [:]
        section = name
        continue
      }
      // Not quoted, because the text may be a misplaced secret.
      guard let equals = line.firstIndex(of: "=") else {
        throw fault("a line is NAME = VALUE, [PROFILE], or a comment after #")
      }
      guard let section else { throw fault("before the first [PROFILE]: begin with [default]") }
      let name = Self.trimmed(line[..<equals])
      guard let option = DefaultOption(rawValue: name) else {
        if ["passphrase", "password"].contains(name) {
          throw fault(
            "a profile cannot have a passphrase: write it to a file, and give that as passphrase-file"
          )
        }
        let known = DefaultOption.allCases.map(\.rawValue)
        throw fault("not an option of a profile; expected one of \(known.joined(separator: ", "))")
      }
      guard sections[section]![option] == nil else { throw fault("duplicate option \(name)") }
      let value = Self.trimmed(line[line.index(after: equals)...])
      if option.isFlag, !["true", "false"].contains(value) {
        throw fault("\(name) must be true or false")
      }
      guard !value.isEmpty else { throw fault("\(name) has no value") }
      sections[section]![option] = option.isFile ? absolute(value) : value
    }
  }

  /// File names are relative to the profiles' directory, or begin with ~/.
  private func absolute(_ name: String) -> String {
    if name.hasPrefix("/") { return name }
    if name.hasPrefix("~/"), let home = Environment.value("HOME") { return home + name.dropFirst() }
    return path[...path.lastIndex(of: "/")!] + name
  }

  private static func trimmed(_ text: Substring) -> String {
    String(
      text.trimmingPrefix { $0.isWhitespace }.reversed().trimmingPrefix { $0.isWhitespace }
        .reversed())
  }
  private static func trimmed(_ text: some StringProtocol) -> String { trimmed(Substring(text)) }
}
