import Foundation

/// A directory of a test's own, gone with it.
final class TestDirectory {
  let path = FileManager.default.temporaryDirectory.path + "/relay-\(UUID().uuidString)"

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
