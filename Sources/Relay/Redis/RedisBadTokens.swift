/// Bad tokens, and the values that relays share about an app.
extension RedisQueue {
  /// A bad token is numbered by its time in microseconds, or by the last number plus one.
  private static let perMS: Int64 = 1000
  private static let mostAtOnce = 1000

  private static let recordTokens = RedisScript(
    #"""
    call('ZCARD', bad_tokens) call('ZCARD', feedback)
    for index = 2, #ARGV, 2 do add_bad_token(ARGV[index], ARGV[index + 1], ARGV[1]) end
    return 1
    """#)

  private static let forget = RedisScript(
    #"""
    local count = 0
    for index = 1, #ARGV, 2 do
      local since = call('ZSCORE', feedback, ARGV[index])
      if since and tonumber(since) <= tonumber(ARGV[index + 1]) then
        call('ZREM', feedback, ARGV[index])
        count = count + 1
      end
    end
    return count
    """#)

  /// Uses a single key, so that it works while the slot is moved, and while Redis is full.
  private static let setState = """
    redis.call('HDEL', KEYS[1], ARGV[1])
    return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    """

  private func key(_ name: String, _ app: String) -> String { "apns:{\(app)}:\(name)" }

  package func badTokens(app: String, after number: Int64, most: Int) throws -> [BadToken] {
    try ask([
      RedisCommand(
        "ZRANGEBYSCORE", key("bad_tokens", app), "(\(number)", "+inf", "WITHSCORES", "LIMIT", "0",
        "\(most)")
    ])[0].pairs.compactMap { token, score in
      Self.whole(score).map {
        BadToken(number: $0, token: token, at: $0 / Self.perMS)
      }
    }
  }

  package func recordBadTokens(_ devices: [GoneToken], app: String, at now: Int64) throws {
    for some in devices.parts(of: Self.mostAtOnce) {
      _ = try run(Self.recordTokens, app: app) { command in
        command.add(now)
        for device in some {
          command.add(device.token)
          command.add(device.since)
        }
      }
    }
  }

  package func forgetBadTokens(before: Int64) throws -> Int {
    let apps = try knownApps().filter { !connections.isUnreachable(Self.key($0)) }
    let commands = apps.map {
      RedisCommand("ZREMRANGEBYSCORE", key("bad_tokens", $0), "-inf", "(\(before * Self.perMS)")
    }
    return try ask(commands).reduce(0) { $0 + ($1.count ?? 0) }
  }

  package func feedback(app: String, most: Int) throws -> [GoneToken] {
    let command = RedisCommand(
      "ZRANGE", key("feedback", app), "0", "\(most - 1)", "WITHSCORES")
    return try ask([command])[0].pairs.compactMap { token, since in
      Self.whole(since).map { GoneToken(token: token, since: $0) }
    }
  }

  package func forgetFeedback(_ told: [GoneToken], app: String) throws {
    for some in told.parts(of: Self.mostAtOnce) {
      _ = try run(Self.forget, app: app) { command in
        for device in some {
          command.add(device.token)
          command.add(device.since)
        }
      }
    }
  }

  package func lastResponses(app: String, most: Int) throws -> [RecordedResponse] {
    // In parts, because a record may have a thousand outcomes, and only over a limited number of
    // records.
    var answers: [RecordedResponse] = []
    var (end, seen) = ("+", 0)
    while answers.count < most, seen < 20 * most {
      let records = try ask([
        RedisCommand("XREVRANGE", key("out", app), end, "-", "COUNT", "\(Self.recordsAtOnce)")
      ])[0].list
      for record in records where record.list.count == 2 && answers.count < most {
        for outcome in RedisEntry.outcomes(of: record.list[1].list).reversed()
        where outcome.httpStatus > 0 {
          answers.append(RecordedResponse(httpStatus: outcome.httpStatus, reason: outcome.reason))
        }
      }
      guard records.count == Self.recordsAtOnce, let last = records.last?.list.first?.text else {
        break
      }
      (end, seen) = ("(\(last)", seen + records.count)
    }
    return answers.prefix(most).reversed()
  }

  private static let recordsAtOnce = 10

  package func appState(_ name: String, app: String) throws -> String? {
    try ask([RedisCommand("HGET", key("app_state", app), name)])[0].text
  }

  package func replaceAppState(
    _ name: String, _ old: String?, by text: String, app: String
  ) throws -> Bool {
    try run(.replaceAppState, app: app, name, old ?? "", text).number == 1
  }

  package func setAppState(_ name: String, _ text: String?, app: String) throws {
    let key = key("app_state", app)
    let command =
      text.map { RedisCommand("EVAL", Self.setState, "1", key, name, $0) }
      ?? RedisCommand("HDEL", key, name)
    _ = try connections.use(key, isRepeatable: true) { try $0.demand(command) }
  }
}
