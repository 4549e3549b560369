import CAPNS
import Client
import Glibc
import JSON
import Simulator

/// Records when connections open, end and are refused.
struct RecordedConnections {
  private let output: LineFile
  /// Milliseconds since the recording began.
  private let clock: () -> Int
  private var begun: Set<UInt32> = []
  private(set) var ended: Set<UInt32> = []

  init(_ output: LineFile, clock: @escaping () -> Int) {
    self.output = output
    self.clock = clock
  }

  mutating func begin(_ connection: UInt32, took milliseconds: Int? = nil) {
    guard begun.insert(connection).inserted else { return }
    var members = event("opened", connection)
    members.add("ms", .number(milliseconds))
    output.write(members.object)
  }

  func refuse(_ line: SessionLine) {
    var members = event("refused", line.connection)
    if line.cause != APNS_CAUSE_NONE {
      members.add("cause", .text(String(cString: apns_cause_name(line.cause))))
    }
    output.write(members.object)
  }

  mutating func end(
    _ connection: UInt32, _ name: String, error: String? = nil, reason: String? = nil
  ) {
    guard ended.insert(connection).inserted else { return }
    var members = event(name, connection)
    members.add("error", .text(error))
    members.add("reason", .text(reason))
    output.write(members.object)
  }

  /// Nobody knows how it ends.
  mutating func abandon(_ connection: UInt32) { ended.insert(connection) }

  private func event(_ name: String, _ connection: UInt32) -> JSONMembers {
    ["at": .number(clock()), "event": .text(name), "connection": .number(nonzero: connection)]
  }
}

extension LineFile {
  /// A new recording; "-" is standard output.
  static func recording(_ path: String) throws(FileFault) -> LineFile {
    path == "-" ? LineFile() : try LineFile(path, O_WRONLY | O_TRUNC)
  }

  /// Writes the first line. `seconds`: UNIX seconds.
  func begin(at seconds: Int64) {
    let header: JSONMembers = [
      RecordingFile.mark: .number(RecordingFile.version), "began": .text(Clock.written(seconds)),
    ]
    write(header.object)
  }
}
