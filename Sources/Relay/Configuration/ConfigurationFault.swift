import APNSLibrary

/// A mistake in a configuration file: which file, line and key, and what is wrong.
package struct ConfigurationFault: Error, CustomStringConvertible, Equatable {
  package var file: String
  /// From 1; 0 for the file as a whole.
  package var line: Int
  /// Such as "apps.shop.limits.window"; empty for the file as a whole.
  package var key: String
  package var message: String

  package var description: String {
    Redaction.of(
      [line > 0 ? "\(file):\(line)" : file, key, message].filter { !$0.isEmpty }
        .joined(separator: ": "))
  }
}
