import ArgumentParser

extension ArgumentHelp {
  /// The help of an option whose value the usage shows as <name>.
  package static func of(_ name: String, _ words: String) -> ArgumentHelp {
    ArgumentHelp(words, valueName: name)
  }
}
