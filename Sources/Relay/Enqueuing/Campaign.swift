import Foundation
import Yams

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

  /// So many entries make a transaction.
  private static let batch = 256

  package init() {}

  package init(file: String) throws {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    guard let node = try Yams.compose(yaml: text) else {
      throw ConfigurationFault(file: file, line: 1, key: "", message: "is empty")
    }
    let section = try ConfigurationSection(node, file: file, path: "")
    app = try section.text("app")
    id = try section.text("id")
    if let alert = try section.text("alert") {
      payload = "{\"aps\":{\"alert\":\(RawJSON.quoted(alert))}}"
    }
    if let file = try section.file("payload") {
      payload = try String(contentsOfFile: file, encoding: .utf8)
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

  /// Enqueues a broadcast to the channel: one entry.
  package func enqueue(channel: String, app: String, into queue: any QueueEngine) throws -> Total {
    let payload = try checkedPayload()
    var total = Total()
    total.id = id ?? UUID().uuidString.lowercased()
    var entry = NewEntry(app: app, id: total.id, channel: channel, payload: payload)
    describe(&entry)
    total.added = try queue.enqueue([entry], at: RelayClock.now)
    total.known = 1 - total.added
    return total
  }

  /// A payload that is no JSON object is refused before anything is enqueued.
  private func checkedPayload() throws -> String {
    guard let payload, !payload.allSatisfy(\.isWhitespace) else {
      throw QueueFault(description: "there is no payload: give --alert or --payload")
    }
    do {
      var reader = RawJSON(String(decoding: PayloadTemplate(payload).sample, as: UTF8.self))
      _ = try reader.members()
    } catch {
      throw QueueFault(description: "the payload is no JSON object: \(error)")
    }
    return payload
  }

  /// Fills in what is the same for all of its entries.
  private func describe(_ entry: inout NewEntry) {
    entry.topic = topic
    entry.pushType = pushType
    entry.priority = priority
    entry.expiry = expiry
    entry.collapseID = collapseID
    entry.deadline = deadline
  }

  /// Enqueues it. An entry that the queue knows already, or has an outcome of, is left out.
  package func enqueue(
    _ devices: DeviceLines, perEntry: Int, app: String, into queue: any QueueEngine
  ) throws -> Total {
    let payload = try checkedPayload()
    var total = Total()
    total.id = id ?? UUID().uuidString.lowercased()
    var entries: [NewEntry] = []
    var elements: [String] = []
    var number = 0
    func close() {
      guard !elements.isEmpty else { return }
      number += 1
      total.devices += elements.count
      var entry = NewEntry(app: app, id: "\(total.id)-\(number)", payload: payload)
      entry.tokens = "[\(elements.joined(separator: ","))]"
      describe(&entry)
      entries.append(entry)
      elements = []
    }
    func store() throws {
      let added = try queue.enqueue(entries, at: RelayClock.now)
      total.added += added
      total.known += entries.count - added
      entries = []
    }
    while let device = try devices.next() {
      elements.append(device)
      if elements.count == perEntry { close() }
      if entries.count == Self.batch { try store() }
    }
    close()
    // The only one has the id as it is.
    if number == 1, entries.count == 1 { entries[0].id = total.id }
    if !entries.isEmpty { try store() }
    guard number > 0 else { throw QueueFault(description: "the list has no device") }
    return total
  }
}
