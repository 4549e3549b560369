import Glibc

/// Properties of the terminal on standard error or output.
enum Terminal {
  static func columns(of stream: StandardStream) -> Int? {
    guard isatty(stream.rawValue) == 1, getenv("TERM").map({ String(cString: $0) }) != "dumb" else {
      return nil
    }
    var size = winsize()
    guard ioctl(stream.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Whether it shows more than ASCII.
  static let hasUnicode: Bool = {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      if let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty {
        let codes = value.uppercased()
        return codes.contains("UTF-8") || codes.contains("UTF8")
      }
    }
    return false
  }()
}
