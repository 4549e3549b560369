/// How this program was built.
enum Build {
  #if DEBUG
    static let name = "debug"
    static let text = """
      This is a debug build: a push over HTTP/2 costs many times what it costs a release build. \
      Measure with a release build: swift build -c release --product apns.
      """
  #else
    static let name = "release"
    static let text = "This is a release build, as needed for measurements."
  #endif
}
