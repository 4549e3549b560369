enum Build {
  static var text: String {
    var isOptimized = true
    // An optimized build does not evaluate it.
    assert(
      {
        isOptimized = false
        return true
      }())
    return isOptimized
      ? "This is an optimized build, as needed for measurements."
      : """
      This build is not optimized: a push over HTTP/2 costs many times what it costs otherwise. \
      Measure with an optimized build: Sources/compile apns -c release.
      """
  }
}
