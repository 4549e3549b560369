import Glibc
import JSON
import Simulator

/// A recording that is being written.
final class RecordingOutput {
  private let path: String
  private let descriptor: CInt
  private var waiting: [UInt8] = []

  /// "-" is standard output.
  init(_ path: String) throws(FileFault) {
    self.path = path
    if path == "-" {
      descriptor = STDOUT_FILENO
      return
    }
    do throws(PrivateFile.Refusal) {
      descriptor = try PrivateFile.open(path, O_WRONLY | O_TRUNC)
    } catch {
      throw FileFault(path: path, message: error.message)
    }
  }

  deinit { if descriptor != STDOUT_FILENO { close(descriptor) } }

  /// The first line. `seconds`: UNIX seconds.
  func begin(at seconds: Int64) {
    var header = JSONMembers()
    header.add(RecordingFile.mark, number: RecordingFile.version)
    header.add("began", text: Clock.written(seconds))
    write(header.object)
  }

  func write(_ line: String) {
    waiting += line.utf8
    waiting.append(0x0A)
  }

  func flush() throws(FileFault) {
    try OutputFile.write(waiting, to: descriptor, path)
    waiting.removeAll(keepingCapacity: true)
  }
}
