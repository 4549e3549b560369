/// Asks sentinels where the primary is now.
struct RedisSentinels {
  /// One that is away must not hold up the others' answer.
  private static let answerS = 1

  private let places: [RedisAddress.Place]
  private let tls: RedisTLS?
  private let name: String

  /// `name`: what messages call all of them.
  init(_ places: [RedisAddress.Place], _ tls: RedisTLS?, _ name: String) {
    self.places = places
    self.tls = tls
    self.name = name
  }

  /// What the first one says that knows it.
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
        faults.append("\(sentinel.name): knows no \(primary)")
      } catch {
        faults.append("\(error)")
      }
    }
    throw QueueFault(
      description: "\(name): no sentinel says where it is: \(faults.joined(separator: "; "))")
  }
}
