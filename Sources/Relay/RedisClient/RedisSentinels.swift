/// Requests the primary's address from Redis Sentinels.
struct RedisSentinels {
  /// Short, so that an unreachable Sentinel does not delay the others.
  private static let answerS = 1

  let places: [RedisAddress.Place]
  let tls: ClientTLS?
  /// Stands for all of them in messages.
  let name: String

  /// The answer of the first Sentinel that knows the primary.
  func place(of primary: String) throws -> RedisAddress.Place {
    var faults: [String] = []
    for sentinel in places {
      do {
        let connection = try RedisConnection(
          to: sentinel, tls, named: sentinel.name, answerS: Self.answerS)
        let words = try connection.demand(
          RedisCommand("SENTINEL", "get-master-addr-by-name", primary)
        ).list.compactMap(\.text)
        if words.count == 2, let port = Int(words[1]), (1...65535).contains(port) {
          return .host(words[0], port: port)
        }
        faults.append("\(sentinel.name): does not know \(primary)")
      } catch {
        faults.append("\(error)")
      }
    }
    throw RelayFault(
      "\(name): no Redis Sentinel knows its address: \(faults.joined(separator: "; "))"
    )
  }
}
