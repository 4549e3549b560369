import Glibc

/// Copies of strings that C structures point to during a call.
package final class LentStrings {
  private var copies: [UnsafeMutablePointer<CChar>] = []

  package init() {}

  package func lend(_ text: String?) -> UnsafePointer<CChar>? {
    guard let text, let copy = strdup(text) else { return nil }
    copies.append(copy)
    return UnsafePointer(copy)
  }

  // Wipes them, because some are passwords.
  deinit {
    for copy in copies {
      explicit_bzero(copy, strlen(copy))
      free(copy)
    }
  }
}
