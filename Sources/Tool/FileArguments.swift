import Client
import Glibc

/// Options that expect a file name but were given the file's contents.
enum FileArguments {
  private static let names = ["certificate", "p12", "key", "p8", "passphrase-file", "ca", "crl"]

  /// The reason why the arguments are unusable; nil if no file's contents are among them. The
  /// parser would take PEM for an option, because it begins with hyphens.
  static func fault(in arguments: ArraySlice<String>) -> String? {
    for (index, argument) in zip(arguments.indices, arguments) {
      guard argument.hasPrefix("--") else { continue }
      let parts = argument.dropFirst(2).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard names.contains(String(parts[0])) else { continue }
      let value =
        parts.count == 2
        ? String(parts[1]) : index + 1 < arguments.endIndex ? arguments[index + 1] : ""
      guard let replacement = Redaction.replacement(value) else { continue }
      // A path may be as long, or as mixed.
      if exists(value) { continue }
      return "--\(parts[0]) needs a file name, but was given text \(replacement): write that to a "
        + "file that only its user may read"
    }
    return nil
  }

  private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
