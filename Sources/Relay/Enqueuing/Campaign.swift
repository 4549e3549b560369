import Foundation
import JSON

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
  package var list: String?
  /// Default: `bulk` for a list, otherwise `normal`.
  package var lane: Lane?
  /// Default: the ID of a list.
  package var name: String?
  /// When its entries are due, in UNIX milliseconds.
  package var due: Int64?
  /// When they are due for each device, by its value `timezone`.
  package var localTime: LocalTime?
  /// The fields that its entries share; without a payload it is empty.
  package var entry = NewEntry(app: "", id: "", payload: "")

  /// The number of entries in a transaction.
  private static let batch = 256

  package init() {}

  package init(file: String) throws {
    guard let node = try ConfigurationReader.node(of: try TextFile.read(file), file: file) else {
      throw ConfigurationFault(file: file, line: 1, message: "is empty")
    }
    let section = try ConfigurationSection(node, file: file, path: "")
    app = try section.text("app")
    id = try section.text("id")
    let alert = try section.text("alert")
    if let alert { say(alert) }
    if let file = try section.file("payload") {
      guard alert == nil else { throw section.fault("payload", "alert is set too: give one") }
      entry.payload = try TextFile.read(file)
    }
    name = try section.text("campaign")
    list = try section.file("tokens")
    entry.channel = try section.text("channel")
    entry.topic = try section.text("topic")
    entry.pushType = try section.text("push_type")
    entry.priority = try section.optional("priority").map(Int.init)
    entry.expiry = try section.optional("expiry")
    entry.collapseID = try section.text("collapse_id")
    entry.deadline = try section.optional("deadline")
    due = try section.text("at").map { text in
      guard let time = Self.due(at: text) else { throw section.fault("at", Self.dueFault(text)) }
      return time
    }
    localTime = try section.text("at_local").map { text in
      guard due == nil else { throw section.fault("at_local", "at is set too: give one") }
      guard let time = LocalTime(text) else {
        throw section.fault("at_local", LocalTime.fault(text))
      }
      return time
    }
    lane = try section.text("lane").map { word in
      guard let lane = Lane(rawValue: word) else { throw section.fault("lane", Lane.fault(word)) }
      return lane
    }
    try section.end()
  }

  private mutating func say(_ alert: String) {
    entry.payload = "{\"aps\":{\"alert\":\(JSONLiteral.string(alert))}}"
  }

  /// The UNIX milliseconds of a time as ISO 8601 writes it, with its zone; nil if it is malformed.
  package static func due(at text: String) -> Int64? {
    let format = ISO8601DateFormatter()
    guard let date = format.date(from: text) else { return nil }
    return Int64(date.timeIntervalSince1970 * 1000)
  }

  package static func dueFault(_ text: String) -> String {
    "must be a time with its zone, such as 2026-12-24T09:00:00Z or 2026-12-24T09:00:00+01:00, not '\(text)'"
  }

  /// The same of a duration from now, such as 2h.
  package static func due(in text: String) -> Int64? {
    guard let seconds = DurationText.seconds(text), seconds < 1e9 else { return nil }
    return RelayClock.now + Int64(seconds * 1000)
  }

  /// Enqueues a broadcast to its channel, as one entry.
  package func enqueue(app: String, into queue: any EntryQueue) throws -> Total {
    guard localTime == nil else { throw RelayFault("a channel has no time zone for a local time") }
    let entry = try entry(app)
    var total = Total()
    total.id = entry.id
    total.added = try queue.enqueue([entry], at: RelayClock.now)
    total.known = 1 - total.added
    return total
  }

  /// An entry with the campaign's ID, or a new one. Refuses values that would make every
  /// notification fail, before any entry is added.
  private func entry(_ app: String) throws -> NewEntry {
    let payload = entry.payload
    guard !payload.allSatisfy(\.isWhitespace) else {
      throw RelayFault("there is no payload: give --alert or --payload")
    }
    do {
      _ = try RawJSON(String(decoding: PayloadTemplate(payload).sample, as: UTF8.self)).members()
    } catch {
      throw RelayFault("the payload is not a JSON object: \(error)")
    }
    if PayloadTemplate(payload).isPlain, payload.utf8.count > PushLimits.longestPayloadOfVoIP {
      throw Self.tooLong(payload.utf8.count)
    }
    for (name, text) in [
      ("id", id), ("app", app), ("topic", entry.topic), ("collapse_id", entry.collapseID),
      ("campaign", name),
    ] {
      guard let text else { continue }
      guard !text.isEmpty else { throw RelayFault("\(name) is empty") }
      guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
        throw RelayFault("\(name) contains a control character: \(JSONLiteral.string(text))")
      }
    }
    if let fault = PushLimits.fault(in: entry) { throw RelayFault(fault.message) }
    for (name, time) in [("expiry", entry.expiry), ("deadline", entry.deadline)] {
      guard time ?? 0 >= 0 else { throw RelayFault("\(name) is negative") }
    }
    var entry = entry
    (entry.app, entry.id) = (app, id ?? UUID().uuidString.lowercased())
    entry.due = due
    if let fault = entry.dueFault(at: RelayClock.now) { throw fault }
    entry.lane = lane ?? (list == nil ? .normal : .bulk)
    entry.campaign = name ?? (list == nil ? nil : entry.id)
    if let fault = entry.campaign.flatMap({ NewEntry.fault(of: $0, "the campaign") }) {
      throw fault
    }
    return entry
  }

  /// Enqueues the devices. An entry with an ID that is queued or has an outcome is skipped.
  package func enqueue(
    _ devices: DeviceLines, perEntry: Int, app: String, into queue: any EntryQueue
  ) throws -> Total {
    var entry = try entry(app)
    entry.channel = nil
    var batch = Batch(queue: queue, app: app, id: entry.id, hasOwnID: id == nil)
    do {
      try Self.read(devices, perEntry, entry, localTime, into: &batch)
    } catch {
      guard batch.total.added + batch.total.known > 0 else { throw error }
      // A second run with another ID would push these twice.
      throw RelayFault(
        "\(error)\nThe \(batch.total.added + batch.total.known) entries before that are in the "
          + "queue. Run it again with --id \(batch.total.id) for the rest.")
    }
    return batch.total
  }

  /// Devices that are due together, which the next entry has.
  private struct Group {
    var due: Int64?
    var elements: [String] = []
    var lines: [Int] = []
  }

  private static func read(
    _ devices: DeviceLines, _ perEntry: Int, _ entry: NewEntry, _ localTime: LocalTime?,
    into batch: inout Batch
  ) throws {
    let isTemplate = !PayloadTemplate(entry.payload).isPlain
    let now = RelayClock.now
    var space: [UInt8] = []
    // By time zone and not by time, so that a second run on another day makes the same entries.
    var groups: [Group] = []
    var places: [String: Int] = [:]
    func group(of device: String) throws -> Int {
      guard let localTime else {
        if groups.isEmpty { groups.append(Group(due: entry.due)) }
        return 0
      }
      let name = try zone(of: device)
      if let place = places[name] { return place }
      var entry = entry
      entry.due = localTime.due(by: try ZoneClock(name), at: now)
      if let fault = entry.dueFault(at: now) { throw fault }
      places[name] = groups.count
      groups.append(Group(due: entry.due))
      return groups.count - 1
    }
    func close(_ place: Int) throws {
      let (elements, lines) = (groups[place].elements, groups[place].lines)
      guard !elements.isEmpty else { return }
      var entry = entry
      entry.id = batch.nextID
      entry.due = groups[place].due
      entry.tokens = "[\(elements.joined(separator: ","))]"
      if isTemplate {
        let targets = try EntryTargets(entry)
        for (position, line) in lines.enumerated() {
          do {
            let count = try targets.withPush(at: position, &space) { _, payload in payload.count }
            guard count <= PushLimits.longestPayloadOfVoIP else { throw tooLong(count) }
          } catch {
            throw devices.fault("\(error)", at: line)
          }
        }
      }
      try batch.add(entry, devices: elements.count)
      (groups[place].elements, groups[place].lines) = ([], [])
    }
    while let device = try devices.next() {
      let place: Int
      do { place = try group(of: device) } catch { throw devices.fault("\(error)") }
      groups[place].elements.append(device)
      groups[place].lines.append(devices.start)
      if groups[place].elements.count == perEntry { try close(place) }
    }
    for place in groups.indices { try close(place) }
    try batch.end()
  }

  /// The device's value `timezone`.
  private static func zone(of device: String) throws -> String {
    guard device.hasPrefix("{"),
      let value = try RawJSON(device).members().last(where: { $0.name == "timezone" })?.value,
      let name = RawJSON.text(value), !name.isEmpty
    else {
      throw RelayFault("the device has no timezone, such as Europe/Berlin, for the local time")
    }
    return name
  }

  private static func tooLong(_ count: Int) -> RelayFault {
    RelayFault("the payload has \(count) bytes; the limit is \(PushLimits.longestPayloadOfVoIP)")
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
      guard number > 0 else { throw RelayFault("the list has no device") }
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
          "the queue knows the id \(total.id) with \(number == 1 ? "more" : "fewer") entries: the "
            + "list, or --entry, has changed; give new devices another --id")
      }
    }
  }
}
