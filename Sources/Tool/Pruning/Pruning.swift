import Client

/// Writes a list without the gone devices.
struct Pruning {
  struct Counts {
    var kept = 0
    var removed = 0
    var registeredLater = 0
    /// Gone, but kept because the time of their registration or rejection is unknown.
    var unknown = 0
    var firstUnknown = 0
    var notRead = 0
    var firstNotRead = 0
  }

  private let list: DeviceList
  private let registered: [UInt8]?
  private let output: OutputFile?

  /// `registered` is nil if the time of registration does not matter, `target` if the list goes to
  /// standard output.
  init(_ path: String, token: String, registered: String?, to target: String?) throws(FileFault) {
    list = try DeviceList(path, token: token)
    self.registered = registered.map { Array($0.utf8) }
    if let column = self.registered, let names = list.names, !names.contains(column) {
      throw FileFault(
        path: path,
        message:
          "the column '\(String(decoding: column, as: UTF8.self))' with the time of registration is missing, so a device that registered again would be lost (name another with --registered-column, or use --ignore-registration)"
      )
    }
    output = try target.map { (path) throws(FileFault) in try OutputFile(path) }
  }

  func run(_ gone: GoneDeviceList) throws(FileFault) -> Counts {
    var counts = Counts()
    var text = list.mark
    if let header = list.header { text += header + list.ending }
    while true {
      var isKept = true
      do throws(FileFault) {
        guard let record = try list.next() else { break }
        isKept = keeps(record, gone, &counts)
      } catch {
        guard error.line > 0 else { throw error }
        note(error.line, &counts.notRead, &counts.firstNotRead)
      }
      if isKept {
        counts.kept += 1
        text += list.source + list.ending
      } else {
        counts.removed += 1
      }
      if text.count > 1 << 16 { try write(&text) }
    }
    try write(&text)
    try output?.finish()
    return counts
  }

  private func keeps(_ record: DeviceRecord, _ gone: GoneDeviceList, _ counts: inout Counts) -> Bool
  {
    guard let text = record.text(DeviceList.token), let token = try? DeviceToken.hex(text) else {
      note(record.line, &counts.notRead, &counts.firstNotRead)
      return true
    }
    guard let end = gone[token] else { return true }
    guard let registered else { return false }
    guard let since = end.since, let time = record.text(registered).flatMap({ Clock.read($0) })
    else {
      note(record.line, &counts.unknown, &counts.firstUnknown)
      return true
    }
    if time > since { counts.registeredLater += 1 }
    return time > since
  }

  private func note(_ line: Int, _ count: inout Int, _ first: inout Int) {
    if count == 0 { first = line }
    count += 1
  }

  private func write(_ text: inout [UInt8]) throws(FileFault) {
    if let output {
      try output.write(text)
    } else {
      StandardStream.output.write(text)
    }
    text.removeAll(keepingCapacity: true)
  }
}
