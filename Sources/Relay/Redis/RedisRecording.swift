/// Records what became of the entries that workers hold.
extension RedisQueue {
  private static let mostAttempts = 100

  package func record(_ updates: [EntryUpdate], by workerID: WorkerID, at now: Int64) throws {
    let ahead = try shared(0, workerID.app)
    var rest = updates
    var known = held.known(updates, of: workerID)
    var attempts = 0
    while true {
      let batch = RecordedBatch(rest, known, ahead: ahead, at: now)
      let reply = try run(.record, app: workerID.app) { command in
        command.add(workerID.number)
        command.add(now)
        command.add(batch.bytes)
        for record in batch.records { command.add(record) }
      }
      // An empty list means success.
      guard case .list(let behind) = reply, behind.count % 2 == 0 else { throw strange("record") }
      if behind.isEmpty { break }
      // Each attempt fails only if other relays have recorded more outcomes of these entries.
      attempts += 1
      guard attempts < Self.mostAttempts else { throw strange("record") }
      // Other relays have recorded some of these outcomes, or Redis has lost some; no update was
      // made.
      for index in stride(from: 0, to: behind.count - 1, by: 2) {
        guard let number = behind[index].count, batch.order.indices.contains(number - 1),
          let text = behind[index + 1].text
        else { throw strange("record") }
        let place = batch.order[number - 1]
        if text == "-" {
          rest[place].dropOrders()
          continue
        }
        let believed = known[place]
        known[place] = RecordedBatch.Known(text: text)
        rest[place].outcomes.removeAll { known[place].has($0.position) }
        // After a crash, Redis may have lost outcomes that it had confirmed. Their notifications
        // are unresolved again, so the entry is not finished but redelivered for them.
        if known[place].lacks(someOf: believed), rest[place].disposition.isEnd {
          rest[place].disposition = .deferred(
            at: now, isRequested: false, line: "the queue has lost outcomes of it")
        }
      }
    }
    held.record(updates, of: workerID)
  }

  package func trim(before: Int64) throws -> Int {
    var total = 0
    for app in try knownApps() where !connections.isUnreachable(Self.key(app)) {
      var from = "-"
      while true {
        // In parts, so that other clients are served in between.
        let reply = try run(.trim, app: app, "\(before)", from).list
        guard reply.count == 2, let count = reply[0].count, let last = reply[1].text,
          from != "(\(last)"
        else { throw strange("trim") }
        total += count
        if last.isEmpty { break }
        from = "(\(last)"
      }
      _ = try run(.trimCampaigns, app: app, "\(before)")
    }
    return total
  }
}
