extension RedisQueue {
  package func reader(_ name: String, app: String) throws -> String? {
    try ask([RedisCommand("HGET", "apns:{\(app)}:readers", name)])[0].text
  }

  package func moveReader(
    _ name: String, app: String, from old: String?, to number: String?
  ) throws -> Bool {
    try run(.moveReader, app: app, name, old ?? "", number ?? "").number == 1
  }

  package func lastOutcome(app: String) throws -> String {
    let newest = try ask([
      RedisCommand("XREVRANGE", "apns:{\(app)}:out", "+", "-", "COUNT", "1")
    ])[0]
    return newest.list.first?.list.first?.text ?? "0"
  }
}

extension RedisScript {
  /// ARGV: name, the current place or an empty string, the new place or an empty string. Returns 1
  /// on success.
  static let moveReader = RedisScript(
    #"""
    local there = call('HGET', readers, ARGV[1]) or ''
    -- A repeated call after a lost reply finds its own place.
    if there == ARGV[3] then return 1 end
    if there ~= ARGV[2] then return 0 end
    if ARGV[3] == '' then
      call('HDEL', readers, ARGV[1])
    else
      call('HSET', readers, ARGV[1], ARGV[3])
    end
    return 1
    """#)
}
