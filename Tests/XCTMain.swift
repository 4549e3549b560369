import Testing

/// Runs the tests of all modules. SwiftPM uses a file of this name as the main program of the
/// tests. Without one it would search for XCTest tests in an index, which each compilation would
/// have to write.
@main enum Tests {
  static func main() async {
    if CommandLine.arguments.contains("--dump-tests-json") {
      print("there are no XCTest tests: add --disable-xctest --enable-swift-testing")
    } else {
      await Testing.__swiftPMEntryPoint() as Never
    }
  }
}
