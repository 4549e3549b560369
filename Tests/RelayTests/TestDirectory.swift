import Foundation

/// A private directory of a test, removed with it.
final class TestDirectory {
  let path = FileManager.default.temporaryDirectory.path + "/relay-\(UUID().uuidString)"

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
