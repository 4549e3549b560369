import Foundation

/// Reads a whole text file.
package enum TextFile {
  private static let longest = 16 << 20

  package static func read(_ path: String) throws -> String {
    guard let file = fopen(path, "re") else { throw fault(path, String(cString: strerror(errno))) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = fread(&room, 1, room.count, file)
      if count == 0 { break }
      bytes += room.prefix(count)
      guard bytes.count <= longest else { throw fault(path, "is longer than \(longest) bytes") }
    }
    guard ferror(file) == 0 else { throw fault(path, String(cString: strerror(errno))) }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      let line = lineOfFault(bytes)
      throw fault("\(path):\(line)", "is not UTF-8")
    }
    return text
  }

  /// The first line that is not UTF-8.
  private static func lineOfFault(_ bytes: [UInt8]) -> Int {
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    return 1 + (lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0)
  }

  private static func fault(_ place: String, _ words: String) -> RelayFault {
    RelayFault("\(place): \(words)")
  }
}
