import Foundation

/// The last outcome that an app's webhook has delivered, and the relay that sends. Both are in the
/// queue, so that another relay continues after a kill.
struct WebhookPlace {
  typealias Store = AppStateStore & ReaderStore & QueueWatching

  /// What the relays share.
  private struct Shared {
    /// Tells this webhook's messages from those of any other queue.
    var mark = Self.random
    /// nil without one.
    var holder: String?
    /// Grows while the holder works.
    var turn: Int64 = 0
    /// The last outcome of the batch that was begun.
    var end: String?

    static var random: String { String(UInt64.random(in: .min ... .max), radix: 36) }

    init() {}

    init?(_ text: String) {
      let words = text.split(separator: " ").map(String.init)
      guard words.count == 4, let turn = Int64(words[2]) else { return nil }
      (mark, self.turn) = (words[0], turn)
      (holder, end) = (words[1] == "-" ? nil : words[1], words[3] == "-" ? nil : words[3])
    }

    var text: String { "\(mark) \(holder ?? "-") \(turn) \(end ?? "-")" }
  }

  private static let state = "webhook"

  private let queue: any Store
  private let app: String
  private let leaseMS: Int64
  private let own = Shared.random
  private var shared = Shared()
  /// The text of `shared` in the queue; nil before it is read.
  private var text: String?
  /// When the text was first seen, or renewed (monotonic).
  private var seen: Int64 = 0
  private(set) var isHeld = false
  /// The last outcome that was delivered.
  private(set) var from = "0"

  init(_ queue: any Store, app: String, leaseMS: Int64) {
    (self.queue, self.app, self.leaseMS) = (queue, app, leaseMS)
  }

  var mark: String { shared.mark }
  var end: String? { shared.end }
  static func reader(of app: String) -> String { "webhook \(app)" }

  /// The webhook begins with the outcomes from now on.
  static func begin(_ queue: any Store, app: String) throws {
    let reader = reader(of: app)
    guard try queue.reader(reader, app: app) == nil else { return }
    _ = try queue.moveReader(reader, app: app, from: nil, to: queue.lastOutcome(app: app))
  }

  /// Becomes or stays the relay that sends. False if another relay does. The holder's clock does not
  /// matter: it is gone if its text stays the same for a lease.
  mutating func hold(at now: Int64) throws -> Bool {
    if isHeld, now - seen < leaseMS / 4 { return true }
    let text = try queue.appState(Self.state, app: app)
    let known = text.flatMap(Shared.init) ?? Shared()
    if known.holder != own {
      isHeld = false
      if text != self.text || seen == 0 { (self.text, seen) = (text, now) }
      guard known.holder == nil || now - seen >= leaseMS else { return false }
    }
    shared = known
    self.text = text
    guard try renew(end: known.end, at: now), !isHeld else { return isHeld }
    try Self.begin(queue, app: app)
    guard let place = try queue.reader(Self.reader(of: app), app: app) else { return false }
    (from, isHeld) = (place, true)
    return true
  }

  /// A batch begins: whoever sends it again gives it the same end. False if another relay took over.
  mutating func begin(_ batch: WebhookBatch, at now: Int64) throws -> Bool {
    try renew(end: batch.last, at: now)
  }

  private mutating func renew(end: String?, at now: Int64) throws -> Bool {
    var new = shared
    (new.holder, new.end) = (own, end)
    new.turn += 1
    guard try queue.replaceAppState(Self.state, text, by: new.text, app: app) else {
      isHeld = false
      return false
    }
    (shared, text, seen) = (new, new.text, now)
    return true
  }

  /// The receiver has the outcomes up to this one. False if another relay took over.
  mutating func move(to last: String) throws -> Bool {
    guard try queue.moveReader(Self.reader(of: app), app: app, from: from, to: last) else {
      isHeld = false
      return false
    }
    from = last
    return true
  }

  /// Lets another relay take over immediately.
  mutating func leave() throws {
    guard isHeld else { return }
    isHeld = false
    var new = shared
    new.holder = nil
    _ = try queue.replaceAppState(Self.state, text, by: new.text, app: app)
  }

  /// Ends the reader of an app without a webhook, unless a relay still has one: then the text
  /// changes. Returns the text to compare with next time; nil without a reader.
  static func forget(_ queue: any Store, app: String, unchanged text: String?) throws -> String? {
    let reader = reader(of: app)
    guard let place = try queue.reader(reader, app: app) else { return nil }
    let now = try queue.appState(state, app: app) ?? ""
    guard now == text else { return now }
    if try queue.moveReader(reader, app: app, from: place, to: nil) {
      try queue.setAppState(state, nil, app: app)
    }
    return nil
  }
}
