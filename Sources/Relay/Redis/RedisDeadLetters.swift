/// Dead letters and gone devices under an operator's control, and outcomes for readers.
extension RedisQueue {
  /// A dead letter as it is stored, and what a retry needs.
  private struct Stored {
    var letter: DeadLetter
    /// The number of field names and values of the entry; those of the relay follow.
    var size: Int
    /// The value of its ID in `ids`; empty without one.
    var known: String
    /// The value of its ID, behind the owner, when it has been given back.
    var knownAfter = ""
    /// The record of its outcomes `dead`, if it has no other ones.
    var record = ""
  }

  private static let lettersTogether = 100
  private static let recordsTogether = 20

  package func outcomes(_ filter: OutcomeFilter, app: String, after number: String) throws
    -> OutcomePage
  {
    let records = try range("out", app, after: number, most: Self.recordsTogether)
    let rows = records.flatMap { number, fields in
      let record = RedisEntry.fields(of: fields)
      let at = record["at"].flatMap { Int64($0) } ?? 0
      return OutcomeList.elements(record["outcomes"] ?? "").flatMap { element in
        element.outcomes.filter { filter.takes(element.id, $0) }.map {
          OutcomeRow(
            number: number, id: element.id, deliveries: element.deliveries, at: at, outcome: $0,
            traceparent: element.traceparent)
        }
      }
    }
    return OutcomePage(
      rows: rows, last: records.last?.number ?? number,
      isEnd: records.count < Self.recordsTogether)
  }

  /// The entries of a stream after a number.
  private func range(_ stream: String, _ app: String, after number: String, most: Int) throws
    -> [(number: String, fields: [RedisReply])]
  {
    let reply = try ask([
      RedisCommand("XRANGE", "apns:{\(app)}:\(stream)", "(\(number)", "+", "COUNT", "\(most)")
    ])[0]
    return try reply.list.map { one in
      let parts = one.list
      guard parts.count == 2, let number = parts[0].text else { throw strange("XRANGE") }
      return (number, parts[1].list)
    }
  }

  package func deadLetters(app: String, ids: Set<String>, after number: String, most: Int) throws
    -> [DeadLetter]
  {
    var (found, last): ([DeadLetter], String) = ([], number)
    while found.count < most {
      let stored = try range("dead", app, after: last, most: Self.lettersTogether)
      found += try letters(stored, app).map(\.letter).filter { ids.isEmpty || ids.contains($0.id) }
      guard stored.count == Self.lettersTogether, let next = stored.last?.number else { break }
      last = next
    }
    return Array(found.prefix(most))
  }

  private func letters(_ stored: [(number: String, fields: [RedisReply])], _ app: String) throws
    -> [Stored]
  {
    guard !stored.isEmpty else { return [] }
    var all = stored.map { number, fields in
      let named = RedisEntry.fields(of: fields)
      var letter = DeadLetter(number: number, id: named["id"] ?? named["entry"] ?? "")
      letter.lane = named["lane"].flatMap { Lane(rawValue: $0) } ?? .normal
      letter.deliveries = named["deliveries"].flatMap { Int($0) } ?? 0
      letter.history = named["history"] ?? ""
      letter.at = named["at"].flatMap { Int64($0) } ?? 0
      // Relays before 0.2.0 did not write `kept` and `kept_record`.
      let isNew = fields.dropLast(3).last?.text == "kept"
      return Stored(letter: letter, size: max(0, fields.count - (isNew ? 14 : 10)), known: "")
    }
    var command = RedisCommand("HMGET", "apns:{\(app)}:ids")
    for one in all { command.add(one.letter.id) }
    let known = try ask([command])[0].list
    guard known.count == all.count else { throw strange("HMGET") }
    for index in all.indices {
      all[index].known = known[index].text ?? ""
      let (owner, record, letter) = Self.parts(of: all[index].known)
      guard owner == ".", !record.isEmpty, letter.isEmpty || letter == all[index].letter.number
      else { continue }
      let outcomes = try ask([
        RedisCommand("XRANGE", "apns:{\(app)}:out", record, record)
      ])[0].list.first?.list
      guard let outcomes, outcomes.count == 2 else { continue }
      let named = RedisEntry.fields(of: stored[index].fields)
      Self.plan(&all[index], named, record, RedisEntry.fields(of: outcomes[1].list))
    }
    return all
  }

  /// Finds the positions that are pushed to again.
  private static func plan(
    _ one: inout Stored, _ fields: [String: String], _ number: String, _ record: [String: String]
  ) {
    // They were written together; otherwise it is the record of a later entry.
    guard record["at"].flatMap({ Int64($0) }) == one.letter.at else { return }
    let elements = OutcomeList.elements(record["outcomes"] ?? "")
    var dead = PositionSet()
    for element in elements where element.id == one.letter.id {
      for outcome in element.outcomes where outcome.kind == .dead {
        dead.insert(outcome.position)
        one.letter.devices += 1
      }
    }
    if elements.allSatisfy({ element in
      element.id == one.letter.id && element.outcomes.allSatisfy { $0.kind == .dead }
    }) {
      one.record = number
    }
    let count = fields["tokens"].flatMap { try? RawJSON($0).elements().count } ?? 0
    var kept = PositionSet()
    for position in 0..<min(count, NewEntry.mostTokens) where !dead.contains(position) {
      kept.insert(position)
    }
    one.knownAfter = "\(fields["kept_record"] ?? "")|\(fields["kept"] ?? kept.text)"
  }

  private static func parts(of known: String) -> (owner: String, record: String, letter: String) {
    let parts = known.split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return ("", "", "") }
    return (String(parts[0]), String(parts[1]), String(parts[2]))
  }

  package func retry(_ letters: [DeadLetter], app: String, at now: Int64) throws -> [String: Int] {
    var given: [String: Int] = [:]
    for letter in letters {
      let stored = try range("dead", app, after: Self.before(letter.number), most: 1)
      guard let one = try self.letters(stored, app).first, one.letter.number == letter.number,
        one.letter.devices > 0
      else { continue }
      let line = "\(TimeText.of(now)) \(DeadLetter.givenBack)"
      let history = one.letter.history.isEmpty ? line : "\(one.letter.history)\n\(line)"
      // Not repeated automatically: it would find nothing to do, and report that.
      let reply = try run(
        .retry, app: app, isRepeatable: false, letter.number, one.letter.id, one.known,
        one.letter.lane.mark, "\(one.size)", one.knownAfter, one.record,
        history, "\(one.letter.devices)")
      if reply.number == 1 { given[letter.number] = one.letter.devices }
    }
    return given
  }

  /// The number before this one in a stream.
  private static func before(_ number: String) -> String {
    let parts = number.split(separator: "-").map { UInt64($0) ?? 0 }
    guard parts.count == 2, parts[0] > 0 else { return "0" }
    return parts[1] > 0 ? "\(parts[0])-\(parts[1] - 1)" : "\(parts[0] - 1)-\(UInt64.max)"
  }

  package func discard(_ letters: [DeadLetter], app: String) throws -> Int {
    guard !letters.isEmpty else { return 0 }
    let reply = try run(.discard, app: app, isRepeatable: false) { command in
      for letter in letters {
        command.add(letter.number)
        command.add(letter.id)
      }
    }
    return try count(reply, "discard")
  }

  package func trimDeadLetters(before: Int64) throws -> Int {
    var total = 0
    for app in try knownApps() where !connections.isUnreachable(Self.key(app)) {
      while true {
        let stored = try range("dead", app, after: "0", most: Self.lettersTogether)
        let old = try letters(stored, app).map(\.letter).prefix { $0.at < before }
        guard !old.isEmpty else { break }
        total += try discard(Array(old), app: app)
      }
    }
    return total
  }

  package func trimGone(before: Int64, at now: Int64) throws -> Int {
    var total = 0
    for app in try knownApps() where !connections.isUnreachable(Self.key(app)) {
      // In parts, so that other clients are served in between.
      var cursor: String? = "0"
      while let from = cursor {
        let reply = try run(.dateGone, app: app, from, "\(now)")
        guard let next = reply.text else { throw strange("date gone devices") }
        cursor = next == "0" ? nil : next
      }
      while true {
        let count = try count(run(.trimGone, app: app, "\(before)"), "trim gone devices")
        total += count
        if count == 0 { break }
      }
    }
    return total
  }
}

extension RedisScript {
  /// ARGV: the number of a dead letter, its ID, the value of that in "ids" as it must be, its lane's
  /// mark, how many of its fields are the entry's, the value behind the owner from now on, a record
  /// to remove or an empty string, the history, the number of its devices. Returns 1 if it was given
  /// back.
  static let retry = RedisScript(
    #"""
    local number, id, expected, mark, size, rest, record, history, devices = unpack(ARGV)
    local letter = call('XRANGE', dead, number, number)[1]
    if not letter or call('HGET', ids, id) ~= expected then return 0 end
    local lane = lane_of(mark)
    local entry = mark .. call('XADD', lane.stream, '*', unpack(letter[2], 1, tonumber(size)))
    call('HSET', ids, id, entry .. '|' .. rest)
    call('HSET', histories, entry, history)
    if record ~= '' then call('XDEL', out, record) end
    local count = 'dead ' .. (map_of(letter[2])['campaign'] or '')
    if call('HEXISTS', campaigns, count) == 1 then call('HINCRBY', campaigns, count, -devices) end
    call('XDEL', dead, number)
    return 1
    """#, isMore: true)

  /// ARGV: the numbers of dead letters, each followed by its ID. Returns how many there were.
  static let discard = RedisScript(
    #"""
    local count = 0
    for place = 1, #ARGV, 2 do
      local number, id = ARGV[place], ARGV[place + 1]
      count = count + call('XDEL', dead, number)
      local owner, last, letter = known(id)
      if owner == '.' and letter == number then call('HSET', ids, id, '.|' .. last .. '|') end
    end
    return count
    """#)

  /// ARGV: a cursor, the time. Devices that an older relay recorded count from now on. Returns the
  /// next cursor.
  static let dateGone = RedisScript(
    #"""
    if call('ZCARD', gone_at) >= call('ZCARD', gone) then return '0' end
    local found = call('ZSCAN', gone, ARGV[1], 'COUNT', 1000)
    for place = 1, #found[2], 2 do call('ZADD', gone_at, 'NX', ARGV[2], found[2][place]) end
    return found[1]
    """#)

  /// ARGV: the time before which gone devices were last recorded that are removed. Returns how many
  /// were removed, 0 after the last ones.
  static let trimGone = RedisScript(
    #"""
    local old = call('ZRANGEBYSCORE', gone_at, '-inf', '(' .. ARGV[1], 'LIMIT', 0, 1000)
    if #old == 0 then return 0 end
    call('ZREM', gone, unpack(old))
    return call('ZREM', gone_at, unpack(old))
    """#)
}
