import Glibc

/// The file with the provider token that this machine's processes share. The bindings have the same
/// rules: Sources/Extensions/php/token_cache.h.
enum TokenCacheFile {
  /// The file for this key and team; nil without one.
  static func path(key: String, team: String) -> String? {
    func isIdentifier(_ text: String) -> Bool {
      text.utf8.count == 10 && text.utf8.allSatisfy { isalnum(CInt($0)) != 0 && $0 < 0x80 }
    }
    guard isIdentifier(key), isIdentifier(team) else { return nil }
    var directory = Environment.value("APNS_TOKEN_CACHE")
    if directory == "off" { return nil }
    if directory == nil { directory = Environment.value("XDG_RUNTIME_DIR") }
    if directory?.hasPrefix("/") != true { directory = "/run/user/\(geteuid())" }
    guard let directory, directory.utf8.count < 3900 else { return nil }
    return "\(directory)/apns-\(team)-\(key).token"
  }
}
