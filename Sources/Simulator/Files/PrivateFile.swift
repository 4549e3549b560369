import Glibc

/// Files that may hold device tokens. A new file is readable by its owner only. An existing file
/// keeps its mode, must belong to the user, and must not be a link.
package enum PrivateFile {
  /// Opens the file with `flags`, and creates it if it is missing. Keeps its contents.
  package static func open(_ path: String, _ flags: CInt) throws(ListError) -> CInt {
    let descriptor = Glibc.open(path, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let failure = ListError.system(path)
      try refuseLink(path)
      throw failure
    }
    do throws(ListError) {
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw ListError.system(path) }
      try check(status, path)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// The status of a file that is about to be replaced; nil if it does not exist.
  package static func status(of path: String) throws(ListError) -> stat? {
    guard let status = try refuseLink(path) else { return nil }
    try check(status, path)
    return status
  }

  /// The status of a file other than a link; nil if it does not exist.
  @discardableResult
  private static func refuseLink(_ path: String) throws(ListError) -> stat? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    if status.st_mode & S_IFMT == S_IFLNK {
      throw ListError(path: path, message: "is a symbolic link, which is not followed")
    }
    return status
  }

  /// In a world-writable directory, another user may have created a file or pipe there to read the
  /// output.
  private static func check(_ status: stat, _ path: String) throws(ListError) {
    let kind = status.st_mode & S_IFMT
    guard kind == S_IFREG || kind == S_IFIFO else { return }
    if status.st_uid != geteuid() {
      throw ListError(path: path, message: "belongs to another user")
    }
    if kind == S_IFREG, status.st_nlink > 1 {
      throw ListError(path: path, message: "has several names (hard links)")
    }
  }
}
