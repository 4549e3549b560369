import JSON

/// A recording as a file: a line that names the format, then a line for each event.
package enum RecordingFile {
  /// The first line of version 1.
  package static let mark = "apns_recording"
  package static let version = 1

  /// nil for the first line.
  static func event(_ line: JSONValue, isFirst: Bool) throws(JSONError) -> RecordedEvent? {
    if !isFirst { return try RecordedEvent(line) }
    if line[mark]?.integer == version { return nil }
    throw JSONError("expected {\"\(mark)\":\(version)}: not a recording", at: line.offset)
  }

  static func read(
    _ path: String, _ take: (RecordedEvent) -> Void
  ) throws(ListError) {
    let bytes = try WholeFile.read(path)
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      if line.isEmpty, number > 1 { continue }
      do throws(JSONError) {
        if let event = try event(JSONParser.read(Array(line)), isFirst: number == 1) { take(event) }
      } catch {
        throw ListError(
          path: path, line: number, column: error.offset + 1, message: error.message)
      }
    }
  }
}
