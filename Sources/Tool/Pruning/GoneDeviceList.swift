import Client
import JSON

/// Gone devices, with the last time each was found gone.
struct GoneDeviceList {
  /// In order of arrival.
  private(set) var devices: [GoneDevice] = []
  private var last: [[UInt8]: Int64] = [:]
  /// Devices rejected because of their tokens, which are not known to be gone. Empty unless
  /// requested.
  private(set) var rejected = RejectedTokens()
  private let takesRejected: Bool

  init(takesRejected: Bool = false) { self.takesRejected = takesRejected }

  /// The reason to stop pushing to a device.
  struct End {
    /// UNIX seconds of the last report; nil without a time.
    var since: Int64?
  }

  subscript(token: [UInt8]) -> End? {
    if let since = last[token] { return End(since: max(since, rejected[token]?.at ?? since)) }
    return rejected[token].map { End(since: $0.at) }
  }

  mutating func add(_ device: GoneDevice) {
    devices.append(device)
    last[device.token] = max(device.since, last[device.token] ?? device.since)
  }

  /// Reads CSV of token and timestamp, or JSON lines with both. In results of apns send, devices
  /// without a timestamp are not gone.
  mutating func read(_ path: String) throws(FileFault) {
    let lines = try LineReader(path)
    var isCSV = false
    while let line = try lines.next() {
      if line.isEmpty { continue }
      if lines.line == 1, line.first != UInt8(ascii: "{") {
        guard line == Array("token,timestamp".utf8) else {
          throw FileFault(
            path: path, line: 1, message: "not JSON lines, and not CSV of token,timestamp")
        }
        isCSV = true
        continue
      }
      if let device = try isCSV ? csv(line, path, lines.line) : json(line, path, lines.line) {
        add(device)
      }
    }
  }

  private func csv(_ line: [UInt8], _ path: String, _ number: Int) throws(FileFault) -> GoneDevice {
    let fields = line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    guard fields.count == 2, let token = try? DeviceToken.hex(Array(fields[0])),
      let since = Clock.read(Array(fields[1]))
    else { throw FileFault(path: path, line: number, message: "not a token and its timestamp") }
    return GoneDevice(token: token, since: since)
  }

  private mutating func json(_ line: [UInt8], _ path: String, _ number: Int) throws(FileFault)
    -> GoneDevice?
  {
    let object: JSONValue
    do throws(JSONError) {
      object = try JSONParser.read(line)
    } catch {
      throw FileFault(path: path, line: number, column: error.offset + 1, message: error.message)
    }
    guard case .string(let text)? = object["token"]?.content else { return nil }
    guard case .number(let since)? = object["timestamp"]?.content else {
      if takesRejected, let token = try? DeviceToken.hex(Array(text.utf8)) {
        rejected.note(object, of: token)
      }
      return nil
    }
    guard let token = try? DeviceToken.hex(Array(text.utf8)), let since = Int64(exactly: since)
    else {
      throw FileFault(path: path, line: number, message: "not a token and its timestamp")
    }
    return GoneDevice(token: token, since: since)
  }
}

extension GoneDevice {
  var json: String {
    JSONMembers.object([
      "token": .text(DeviceToken.hex(of: token)), "timestamp": .number(since),
      "gone_since": .text(Clock.written(since)),
    ])
  }
}
