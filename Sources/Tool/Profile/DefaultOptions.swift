import Glibc

/// The options that the environment or a profile adds to the command line.
struct DefaultOptions {
  /// The command line with these added.
  private(set) var arguments: [String]
  /// The added options and their sources, for a message about a value that the user did not type.
  private(set) var sources: [String] = []

  init(completing arguments: [String]) throws(FileFault) {
    self.arguments = arguments
    guard let command = arguments.first,
      ["send", "channel", "doctor", "feedback"].contains(command)
    else { return }
    // Inserted after the names of command and subcommand.
    let words = command == "channel" ? 2 : 1
    guard arguments.count >= words, !arguments[words - 1].hasPrefix("-") else { return }
    let typed = Self.typed(arguments)
    // Help needs no options, and a relay is checked with a legacy program's credentials.
    if !typed.isDisjoint(with: ["help", "h", "version", "relay"]) { return }

    var excluded = Set(
      DefaultOption.allCases.filter { typed.contains($0.rawValue) }.flatMap(\.excludes))
    if typed.contains("t") { excluded.insert(.topic) }
    var added: [String] = []
    func add(_ values: [DefaultOption: String], from source: (DefaultOption) -> String) {
      let chosen = DefaultOption.allCases.filter {
        values[$0] != nil && !excluded.contains($0) && $0.isTaken(by: command)
      }
      for option in chosen {
        // A false flag only prevents a lower-priority source from setting it.
        if values[option] == "false", option.isFlag {
          excluded.insert(option)
          continue
        }
        excluded.formUnion(option.excludes)
        added.append("--\(option.rawValue)" + (option.isFlag ? "" : "=\(values[option]!)"))
        sources.append("--\(option.rawValue) (\(source(option)))")
      }
    }
    try add(Self.environment()) { $0.variable }
    if let (profile, path, values) = try Self.profile(named: Self.typedProfile(arguments)) {
      add(values) { _ in "profile \(profile) of \(path)" }
    }
    self.arguments.insert(contentsOf: added, at: words)
  }

  private static func environment() throws(FileFault) -> [DefaultOption: String] {
    var values: [DefaultOption: String] = [:]
    for option in DefaultOption.allCases {
      guard let value = Environment.value(option.variable) else { continue }
      if option.isFlag, !["true", "false", "1", "0"].contains(value) {
        throw FileFault(path: option.variable, message: "must be true or false")
      }
      values[option] = option.isFlag ? (["true", "1"].contains(value) ? "true" : "false") : value
    }
    return values
  }

  /// The requested profile, or the default one if the file exists.
  private static func profile(
    named typed: String?
  ) throws(FileFault) -> (String, String, [DefaultOption: String])? {
    let requested = typed ?? Environment.value("APNS_PROFILE")
    guard let path = ProfileFile.path else {
      guard let requested else { return nil }
      throw FileFault(
        path: "profile \(requested)", message: "neither XDG_CONFIG_HOME nor HOME is set")
    }
    if requested == nil, access(path, F_OK) != 0 { return nil }
    let file = try ProfileFile(path)
    if let values = file.sections[requested ?? "default"] {
      return (requested ?? "default", path, values)
    }
    guard let requested else { return nil }
    let names = file.sections.keys.sorted().joined(separator: ", ")
    throw FileFault(
      path: path,
      message:
        "profile '\(requested)' does not exist; the file has: \(names.isEmpty ? "none" : names)")
  }

  private static func typed(_ arguments: [String]) -> Set<String> {
    Set(
      arguments.prefix { $0 != "--" }.compactMap { argument in
        guard argument.hasPrefix("-") else { return nil }
        let name = argument.drop { $0 == "-" }.prefix { $0 != "=" }
        return argument.hasPrefix("--") ? String(name) : String(name.prefix(1))
      })
  }

  private static func typedProfile(_ arguments: [String]) -> String? {
    let options = Array(arguments.prefix { $0 != "--" })
    for (index, argument) in options.enumerated() {
      if argument.hasPrefix("--profile=") { return String(argument.dropFirst(10)) }
      if ["--profile", "-p"].contains(argument), index + 1 < options.count {
        return options[index + 1]
      }
    }
    return nil
  }
}
