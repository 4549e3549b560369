import Testing

/// Runs the tests of all modules. SwiftPM takes a file of this name as the main of the tests. Without
/// one it would look for tests of XCTest in an index, which each compilation would have to write.
@main enum Tests {
  static func main() async {
    if CommandLine.arguments.contains("--dump-tests-json") {
      print("no test is one of XCTest: say --disable-xctest --enable-swift-testing too")
    } else {
      await Testing.__swiftPMEntryPoint() as Never
    }
  }
}
