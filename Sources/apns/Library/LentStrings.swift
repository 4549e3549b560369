import Glibc

/// Texts that structures of C point to while a call borrows them.
final class LentStrings {
  private var copies: [UnsafeMutablePointer<CChar>] = []

  func lend(_ text: String?) -> UnsafePointer<CChar>? {
    guard let text, let copy = strdup(text) else { return nil }
    copies.append(copy)
    return UnsafePointer(copy)
  }

  // Passwords are among them.
  deinit {
    for copy in copies {
      explicit_bzero(copy, strlen(copy))
      free(copy)
    }
  }
}
