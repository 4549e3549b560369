import Glibc

/// Files that may hold device tokens. A new file is readable by its owner only. An existing file
/// keeps its mode, must belong to the user, and must not be a link.
package enum PrivateFile {
  package struct Refusal: Error {
    package let message: String
  }

  /// Opens the file with `flags`, and creates it if it is missing. Keeps its contents.
  package static func open(_ path: String, _ flags: CInt) throws(Refusal) -> CInt {
    let descriptor = Glibc.open(path, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let failure = Errno.last
      if isLink(path) { throw Refusal(message: "is a symbolic link, which is not followed") }
      throw Refusal(message: failure.description)
    }
    do throws(Refusal) {
      try check(descriptor)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// The status of a file that is about to be replaced; nil if it does not exist.
  package static func status(of path: String) throws(Refusal) -> stat? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    if isLink(path) { throw Refusal(message: "is a symbolic link, which is not followed") }
    try check(status)
    return status
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  private static func check(_ descriptor: CInt) throws(Refusal) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Refusal(message: Errno.last.description) }
    try check(status)
  }

  /// In a world-writable directory, another user may have created a file or pipe there to read the
  /// output.
  private static func check(_ status: stat) throws(Refusal) {
    let kind = status.st_mode & S_IFMT
    guard kind == S_IFREG || kind == S_IFIFO else { return }
    if status.st_uid != geteuid() { throw Refusal(message: "belongs to another user") }
    if kind == S_IFREG, status.st_nlink > 1 {
      throw Refusal(message: "has several names (hard links)")
    }
  }
}
