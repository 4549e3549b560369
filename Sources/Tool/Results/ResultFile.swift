import Client
import Glibc
import JSON

/// The outcome of each device, one JSON object per line, and the state that a later run needs to
/// continue after any interruption.
///
/// Before a device is sent to, a line records how far the list may have been sent ("sending_to").
/// An outcome is written before anything more is sent. So a device up to "sending_to" without an
/// outcome may have got its notification. Their number is limited by the session's window.
final class ResultFile {
  /// How far ahead "sending_to" is written.
  private static let step = 1024

  struct Beginning {
    var list: String
    var size: Int?
    /// A hash of everything that identifies the run.
    var fingerprint: UInt64
  }

  private let lines: LineFile
  private(set) var done = DoneRecords()
  /// The last device that earlier runs may have sent to.
  private(set) var sentBefore = 0
  private var mark = 0
  private(set) var isResumed = false

  /// Writes a new file, or continues one. Removes a truncated line.
  init(_ path: String, _ beginning: Beginning, resumes: Bool) throws(FileFault) {
    lines = try LineFile(path, O_RDWR)
    guard flock(lines.descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw FileFault(path: path, message: "another run is writing to it")
    }
    var status = stat()
    guard fstat(lines.descriptor, &status) == 0 else { throw FileFault.system(path) }
    let header = JSONMembers.object([
      "list": .text(beginning.list), "bytes": .number(beginning.size),
      "run": .text(String(beginning.fingerprint, radix: 16)),
    ])
    if status.st_size > 0 {
      guard resumes else {
        throw FileFault(path: path, message: "already has results: continue with --resume")
      }
      try adopt(Array(header.utf8))
    }
    guard lseek(lines.descriptor, 0, SEEK_END) >= 0 else { throw FileFault.system(path) }
    if !isResumed {
      write(header)
      try flush()
    }
  }

  /// How many devices without an outcome earlier runs may have sent to.
  var inDoubt: Int { done.missing(in: sentBefore) + done.doubtful.count }

  func isInDoubt(_ number: Int) -> Bool {
    done.doubtful.contains(number) || (number <= sentBefore && !done.contains(number))
  }

  /// Call it before sending to that device.
  func begin(_ number: Int) throws(FileFault) {
    guard number > mark else { return }
    mark = number + Self.step - 1
    write("{\"sending_to\":\(mark)}")
    try flush()
  }

  /// Corrects "sending_to" when a run ends normally.
  func end(_ lastSent: Int) throws(FileFault) {
    write("{\"sending_to\":\(max(sentBefore, lastSent))}")
    try flush()
  }

  func write(_ line: String) { lines.write(line) }

  func flush() throws(FileFault) { try lines.flush() }

  private func adopt(_ first: [UInt8]) throws(FileFault) {
    let reader = try LineReader(lines.path)
    var whole = 0
    while let line = try reader.next() {
      // A line without a line feed was truncated.
      guard reader.position > whole + line.count else { break }
      if reader.line == 1 {
        guard line == first else {
          throw FileFault(
            path: lines.path, line: 1,
            message: "the results belong to another run: a different list, payload or service")
        }
        isResumed = true
      } else {
        guard let object = try? JSONParser.read(line), take(object) else {
          throw FileFault(
            path: lines.path, line: reader.line, message: "was not written by apns send")
        }
      }
      whole = reader.position
    }
    guard ftruncate(lines.descriptor, off_t(whole)) == 0 else {
      throw FileFault.system(lines.path)
    }
    mark = sentBefore
  }

  /// False if the line does not belong in such a file.
  private func take(_ object: JSONValue) -> Bool {
    if case .number(let to)? = object["sending_to"]?.content {
      // The last one applies: a run that ended normally has corrected it.
      sentBefore = Int(exactly: to) ?? 0
      return true
    }
    guard let number = object["n"]?.integer,
      let kind = object["outcome"]?.string.flatMap(SendOutcome.Kind.init(rawValue:))
    else { return false }
    done.insert(number, as: kind, object["reason"]?.string ?? "")
    return true
  }
}

/// FNV-1a over what must not change between the runs of one list.
struct Fingerprint {
  private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    value = (value ^ 0xFF) &* 0x100_0000_01b3
  }
}
