import Foundation

extension RelayConfiguration.Queue {
  /// A queue in another place: a SQLite file, or a Redis URL.
  package init(at place: String, like other: Self? = nil) {
    self = other ?? Self()
    let isRedis = RedisAddress.isOne(place)
    redis = RelayConfiguration.Redis()
    redis.url = isRedis ? place : nil
    file = isRedis ? "" : place
  }

  /// Opens the queue that the configuration names.
  package func open() throws -> any QueueEngine {
    guard let address = try redisAddress() else { return try SQLiteQueue(file, sync: sync) }
    return try RedisQueue(address)
  }

  /// The queue's name without its password.
  package var name: String {
    redis.url.map { (try? RedisAddress($0).name) ?? "redis" } ?? file
  }

  private func redisAddress() throws -> RedisAddress? {
    guard let url = redis.url else { return nil }
    var address: RedisAddress
    do throws(RedisAddress.Fault) {
      address = try RedisAddress(url)
    } catch {
      throw RelayFault(description: "queue.redis.url: \(error)")
    }
    if address.tls != nil { address.tls = redis.tls }
    if let file = redis.passwordFile {
      let text: String
      do {
        text = try String(contentsOfFile: file, encoding: .utf8)
      } catch {
        throw RelayFault(description: "\(file): cannot be read")
      }
      address.password = text.split(whereSeparator: \.isNewline).first.map(String.init)
      if address.password == nil { throw RelayFault(description: "\(file): is empty") }
    }
    return address
  }
}

extension RelayConfiguration.Redis {
  package var isCluster: Bool {
    guard let url, let address = try? RedisAddress(url) else { return false }
    if case .cluster = address.place { return true }
    return false
  }
}
