import Glibc

enum Environment {
  /// nil also if it is empty.
  static func value(_ name: String) -> String? {
    guard let found = getenv(name), found.pointee != 0 else { return nil }
    return String(cString: found)
  }
}
