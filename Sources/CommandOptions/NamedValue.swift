import ArgumentParser

extension ArgumentHelp {
  /// The help of an option whose value the usage shows as <name>.
  package static func of(_ name: String, _ words: String) -> ArgumentHelp {
    ArgumentHelp(words, valueName: name)
  }
}

extension Option where Value == String? {
  /// An option for a file, which the shell completes.
  package init(name: NameSpecification = .long, file words: String) {
    self.init(name: name, help: .of("file", words), completion: .file())
  }
}

/// Throws a message about the first of these options that was given.
package func refuse(
  _ given: KeyValuePairs<String, Bool>, _ message: (_ option: String) -> String
) throws {
  if let first = given.first(where: \.value) { throw ValidationError(message(first.key)) }
}
