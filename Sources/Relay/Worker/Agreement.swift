import Logging

/// The settings of an app on which all relays on a queue must agree. The first relay writes them
/// into the queue; another one with different settings logs that. If topic, environment or order
/// differ, it claims no entries, because its notifications would be sent as another app's or in
/// another order. A class, because it outlives a worker's loop.
final class Agreement {
  private static let note = "agreement"

  private let name: String
  private let grave: String
  private let credentials: String
  /// The disagreement; nil without one.
  private(set) var words: String?
  private(set) var isBroken = false
  /// Whether the queue has this relay's settings, which is true for one relay of an app.
  private(set) var isFirst = false

  init(_ app: AppConfiguration, named name: String) {
    self.name = name
    grave =
      "topic \(app.topic ?? "of its certificate"), environment \(app.environment.rawValue), "
      + "order \(app.keepOrder.rawValue)"
    let who = app.credentials
    credentials =
      who.keyID.map { "key \($0) of team \(who.teamID ?? "-")" }
      ?? (who.certificate == nil ? "tokens of a program" : "a certificate")
  }

  /// Whether a relay that still is on the queue serves the app.
  static func isServed(_ app: String, _ queue: any EntryQueue & AppStateStore) throws -> Bool {
    guard let noted = try queue.appState(note, app: app),
      let number = noted.split(separator: "\n").first.flatMap({ Int64($0) })
    else { return false }
    return try queue.knows(WorkerID(number: number, app: app))
  }

  private func text(_ workerID: WorkerID) -> String {
    [String(workerID.number), name, grave, credentials].joined(separator: "\n")
  }

  /// Writes the settings, or compares them with the queue's.
  func look(_ queue: any EntryQueue & AppStateStore, _ workerID: WorkerID, _ log: Logger)
    throws
  {
    let own = text(workerID)
    let noted = try queue.appState(Self.note, app: workerID.app)
    isFirst = noted == own
    if isFirst { return agree(log) }
    let parts = (noted ?? "").split(separator: "\n", omittingEmptySubsequences: false)
    // A value with our name is from this process, which may have read its configuration again; a
    // relay that is gone does not count.
    guard parts.count == 4, let number = Int64(parts[0]), parts[1] != name,
      try queue.knows(WorkerID(number: number, app: workerID.app))
    else {
      // If another relay was faster, its settings are compared next time, and no entries are
      // claimed before.
      isFirst = try queue.replaceAppState(Self.note, noted, by: own, app: workerID.app)
      isBroken = !isFirst
      if isFirst { agree(log) }
      return
    }
    isBroken = parts[2] != grave
    guard isBroken || parts[3] != credentials else { return agree(log) }
    let said =
      isBroken
      ? "the relay \(parts[1]) has \(parts[2]), this one \(grave): this one pushes nothing until they agree"
      : "the relay \(parts[1]) pushes with \(parts[3]), this one with \(credentials)"
    if said != words { log.error("\(said)") }
    words = said
  }

  private func agree(_ log: Logger) {
    if words != nil { log.notice("the relays agree again") }
    (words, isBroken) = (nil, false)
  }

  func leave(_ queue: any EntryQueue & AppStateStore, _ workerID: WorkerID) throws {
    guard try queue.appState(Self.note, app: workerID.app) == text(workerID) else { return }
    try queue.setAppState(Self.note, nil, app: workerID.app)
  }
}
