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
