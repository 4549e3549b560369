import Foundation

/// One payload for a list of devices, or for a channel.
package struct Campaign {
  package struct Total: Equatable {
    package var added = 0
    package var known = 0
    package var devices = 0
    package var id = ""
  }

  package var app: String?
  package var id: String?
  package var payload: String?
  package var list: String?
  package var channel: String?
  package var topic: String?
  package var pushType: String?
  package var priority: Int?
  package var expiry: Int64?
  package var collapseID: String?
  package var deadline: Int64?

  /// The number of entries in a transaction.
  private static let batch = 256
  private static let longestCollapseID = 64
  /// APNs' largest limit for any push type.
  private static let longestPayload = 5120

  package init() {}

  package init(file: String) throws {
    guard let node = try ConfigurationReader.node(of: try TextFile.read(file), file: file) else {
      throw ConfigurationFault(file: file, line: 1, key: "", message: "is empty")
    }
    let section = try ConfigurationSection(node, file: file, path: "")
    app = try section.text("app")
    id = try section.text("id")
    if let alert = try section.text("alert") {
      payload = "{\"aps\":{\"alert\":\(RawJSON.quoted(alert))}}"
    }
    if let file = try section.file("payload") {
      guard payload == nil else { throw section.fault("payload", "alert is set too: give one") }
      payload = try TextFile.read(file)
    }
    list = try section.file("tokens")
    channel = try section.text("channel")
    topic = try section.text("topic")
    pushType = try section.text("push_type")
    priority = try section.optional("priority").map(Int.init)
    expiry = try section.optional("expiry")
    collapseID = try section.text("collapse_id")
    deadline = try section.optional("deadline")
    try section.end()
  }

  /// Enqueues a broadcast to the channel, as one entry.
  package func enqueue(channel: String, app: String, into queue: any EntryQueue) throws -> Total {
    let payload = try checkedPayload()
    try check(app)
    var total = Total()
    total.id = id ?? UUID().uuidString.lowercased()
    var entry = NewEntry(app: app, id: total.id, channel: channel, payload: payload)
    describe(&entry)
    total.added = try queue.enqueue([entry], at: RelayClock.now)
    total.known = 1 - total.added
    return total
  }

  /// Refuses a payload that is not a JSON object before any entry is added.
  private func checkedPayload() throws -> String {
    guard let payload, !payload.allSatisfy(\.isWhitespace) else {
      throw RelayFault(description: "there is no payload: give --alert or --payload")
    }
    do {
      var reader = RawJSON(String(decoding: PayloadTemplate(payload).sample, as: UTF8.self))
      _ = try reader.members()
    } catch {
      throw RelayFault(description: "the payload is not a JSON object: \(error)")
    }
    if PayloadTemplate(payload).isPlain, payload.utf8.count > Self.longestPayload {
      throw Self.tooLong(payload.utf8.count)
    }
    return payload
  }

  /// Refuses values that would make every notification fail.
  private func check(_ app: String) throws {
    for (name, text) in [("id", id), ("app", app), ("topic", topic), ("collapse_id", collapseID)] {
      guard let text else { continue }
      guard !text.isEmpty else { throw RelayFault(description: "\(name) is empty") }
      guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
        throw RelayFault(
          description: "\(name) contains a control character: \(RawJSON.quoted(text))")
      }
    }
    if let priority, ![10, 5, 1].contains(priority) {
      throw RelayFault(description: "priority is 10, 5 or 1, not \(priority)")
    }
    if let pushType, !ServiceSession.knows(pushType: pushType) {
      throw RelayFault(description: "there is no push type '\(pushType)'")
    }
    if let collapseID, collapseID.utf8.count > Self.longestCollapseID {
      throw RelayFault(
        description:
          "collapse_id has \(collapseID.utf8.count) bytes; the limit is \(Self.longestCollapseID)"
      )
    }
    for (name, time) in [("expiry", expiry), ("deadline", deadline)] {
      guard time ?? 0 >= 0 else { throw RelayFault(description: "\(name) is negative") }
    }
  }

  /// Fills in the fields that all entries share.
  private func describe(_ entry: inout NewEntry) {
    entry.topic = topic
    entry.pushType = pushType
    entry.priority = priority
    entry.expiry = expiry
    entry.collapseID = collapseID
    entry.deadline = deadline
  }

  /// Enqueues the devices. An entry with an ID that is queued or has an outcome is skipped.
  package func enqueue(
    _ devices: DeviceLines, perEntry: Int, app: String, into queue: any EntryQueue
  ) throws -> Total {
    let payload = try checkedPayload()
    try check(app)
    var batch = Batch(
      queue: queue, app: app, id: id ?? UUID().uuidString.lowercased(), hasOwnID: id == nil)
    do {
      try read(devices, perEntry, payload, into: &batch)
    } catch {
      guard batch.total.added + batch.total.known > 0 else { throw error }
      // A second run with another ID would push these twice.
      throw RelayFault(
        description:
          "\(error)\nThe \(batch.total.added + batch.total.known) entries before that are in the "
          + "queue. Run it again with --id \(batch.total.id) for the rest.")
    }
    return batch.total
  }

  private func read(
    _ devices: DeviceLines, _ perEntry: Int, _ payload: String, into batch: inout Batch
  ) throws {
    let isTemplate = !PayloadTemplate(payload).isPlain
    var space: [UInt8] = []
    var elements: [String] = []
    var lines: [Int] = []
    func close() throws {
      guard !elements.isEmpty else { return }
      var entry = NewEntry(app: batch.app, id: batch.nextID, payload: payload)
      entry.tokens = "[\(elements.joined(separator: ","))]"
      describe(&entry)
      if isTemplate {
        let targets = try EntryTargets(entry)
        for (position, line) in lines.enumerated() {
          do {
            let count = try targets.withPush(at: position, &space) { _, payload in payload.count }
            guard count <= Self.longestPayload else { throw Self.tooLong(count) }
          } catch {
            throw devices.fault("\(error)", at: line)
          }
        }
      }
      try batch.add(entry, devices: elements.count)
      (elements, lines) = ([], [])
    }
    while let device = try devices.next() {
      elements.append(device)
      lines.append(devices.start)
      if elements.count == perEntry { try close() }
    }
    try close()
    try batch.end()
  }

  private static func tooLong(_ count: Int) -> RelayFault {
    RelayFault(description: "the payload has \(count) bytes; the limit is \(longestPayload)")
  }

  /// The entries of one transaction.
  private struct Batch {
    let queue: any EntryQueue
    let app: String
    let hasOwnID: Bool
    var total = Total()
    private var entries: [NewEntry] = []
    private var number = 0

    init(queue: any EntryQueue, app: String, id: String, hasOwnID: Bool) {
      (self.queue, self.app, self.hasOwnID) = (queue, app, hasOwnID)
      total.id = id
    }

    var nextID: String { "\(total.id)-\(number + 1)" }

    mutating func add(_ entry: NewEntry, devices: Int) throws {
      number += 1
      total.devices += devices
      entries.append(entry)
      if entries.count == Campaign.batch { try store() }
    }

    mutating func end() throws {
      guard number > 0 else { throw RelayFault(description: "the list has no device") }
      // A single entry gets the ID without a number.
      if number == 1 { entries[0].id = total.id }
      try store()
    }

    private mutating func store() throws {
      guard !entries.isEmpty else { return }
      if total.added + total.known == 0 { try checkSame() }
      let added = try queue.enqueue(entries, at: RelayClock.now)
      total.added += added
      total.known += entries.count - added
      entries = []
    }

    /// Refuses a second run that makes one entry where the first made several, or the reverse:
    /// their IDs differ, so the devices would be pushed again.
    private func checkSame() throws {
      guard !hasOwnID else { return }
      let other = number == 1 ? "\(total.id)-1" : total.id
      guard try queue.known([other], app: app)[other] == nil else {
        throw RelayFault(
          description:
            "the queue knows the id \(total.id) with \(number == 1 ? "more" : "fewer") entries: the "
            + "list, or --entry, has changed; give new devices another --id")
      }
    }
  }
}
