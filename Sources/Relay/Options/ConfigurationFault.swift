import Client

/// An error in a configuration file: file, line, key and message.
package struct ConfigurationFault: Error, CustomStringConvertible, Equatable {
  package var file: String
  /// Counts from 1; 0 for the whole file.
  package var line: Int
  /// For example "apps.shop.limits.window"; empty for the whole file.
  package var key = ""
  package var message: String

  package var description: String {
    Redaction.of(
      [line > 0 ? "\(file):\(line)" : file, key, message].filter { !$0.isEmpty }
        .joined(separator: ": "))
  }
}
