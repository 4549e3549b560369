/// What a producer puts into the queue: one notification, or one payload for many devices. It has
/// exactly one of token, tokens and channel.
package struct NewEntry: Equatable, Sendable {
  package static let longestID = 64
  package static let mostTokens = 1000

  package var app: String
  package var id: String
  /// One device, in hex.
  package var token: String?
  /// A JSON array: each element a token in hex, or an object with "token" and values to fill in.
  package var tokens: String?
  /// A broadcast to this channel, in base64.
  package var channel: String?
  package var payload: String
  package var topic: String?
  package var pushType: String?
  package var priority: Int?
  /// When the service gives up, in UNIX seconds; 0: it tries once.
  package var expiry: Int64?
  package var collapseID: String?
  /// Not sent after this time, in UNIX seconds.
  package var deadline: Int64?

  package init(
    app: String, id: String, token: String? = nil, tokens: String? = nil, channel: String? = nil,
    payload: String
  ) {
    self.app = app
    self.id = id
    self.token = token
    self.tokens = tokens
    self.channel = channel
    self.payload = payload
  }
}

extension NewEntry {
  /// Why no queue takes it; nil: there is nothing wrong.
  package var fault: QueueFault? {
    // Most have few bytes, and then as few characters.
    guard !id.isEmpty, id.utf8.count <= Self.longestID || id.unicodeScalars.count <= Self.longestID
    else {
      return QueueFault(
        description: "the id '\(id)' does not have 1 to \(Self.longestID) characters")
    }
    // SQLite ends a text there, and would pass over the entry without a word.
    guard !id.utf8.contains(0) else {
      return QueueFault(description: "the id '\(id)' has a NUL in it")
    }
    guard (token == nil ? 0 : 1) + (tokens == nil ? 0 : 1) + (channel == nil ? 0 : 1) == 1 else {
      return QueueFault(description: "\(id): give one of token, tokens and channel")
    }
    return nil
  }
}

/// An entry as a worker gets it.
package struct Entry: Equatable, Sendable {
  package var number: Int64
  package var content: NewEntry
  /// How often it was given to a worker, this time included.
  package var deliveries: Int
  /// How many of those ended with an answer that asks to come again later.
  package var answers: Int
  /// How many of them ended by a crash in which others were in flight too.
  package var crashes = 0
  /// Places in `tokens` that have their outcome already.
  package var answered: PositionSet
  /// Why it cannot be read, where a producer could write what it wanted.
  package var fault: String?

  package init(
    number: Int64, content: NewEntry, deliveries: Int, answers: Int, crashes: Int = 0,
    answered: PositionSet, fault: String? = nil
  ) {
    self.number = number
    self.content = content
    self.deliveries = deliveries
    self.answers = answers
    self.crashes = crashes
    self.answered = answered
    self.fault = fault
  }

  /// The last time at which it makes sense to send it, in UNIX seconds; nil: always.
  package var lastSecond: Int64? {
    let expiry = content.expiry.flatMap { $0 > 0 ? $0 : nil }
    guard let deadline = content.deadline, let expiry else { return content.deadline ?? expiry }
    return min(deadline, expiry)
  }
}
