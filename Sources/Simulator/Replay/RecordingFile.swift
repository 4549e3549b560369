import JSON

/// A recording as a file: a line that names the format, then a line for each event.
package enum RecordingFile {
  /// The first line of version 1.
  package static let mark = "apns_recording"
  package static let version = 1

  static func read(
    _ path: String, _ take: (RecordedEvent) -> Void
  ) throws(ListError) {
    let bytes = try WholeFile.read(path)
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      if line.isEmpty, number > 1 { continue }
      do throws(JSONError) {
        let json = try JSONParser.read(Array(line))
        if number > 1 {
          take(try RecordedEvent(json))
        } else if json[mark]?.integer != version {
          throw JSONError("expected {\"\(mark)\":\(version)}: not a recording", at: 0)
        }
      } catch {
        throw ListError(
          path: path, line: number, column: error.offset + 1, message: error.message)
      }
    }
  }
}
