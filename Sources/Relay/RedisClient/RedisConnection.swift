import COpenSSL
import Foundation

/// A connection to Redis. One thread at a time uses it; `RedisNode` ensures that.
///
/// hiredis parses the replies. Sockets and TLS are our own, so that TLS does not depend on the
/// installed hiredis, and each request has one deadline.
final class RedisConnection: @unchecked Sendable {
  private static let connectS = 3
  private static let answerS = 10
  /// The size of the output buffer that is kept between batches.
  private static let keptBytes = 1 << 20

  private let socket: ClientSocket
  private let reader: RedisReplyReader
  private var out: [UInt8] = []
  /// Larger reads would make hiredis free its buffer and allocate it again.
  private var room = [UInt8](repeating: 0, count: 1 << 14)
  private let name: String
  private let answerS: Int
  private static let clockMS: Int64 = 10_000
  /// The end of the year 9999.
  private static let lastSecond: Int64 = 253_402_300_799
  private var aheadMS: Int64 = 0
  private var nextLook: Int64 = 0
  /// Each command follows an ASK redirect of another node, and needs ASKING.
  var isAsking = false

  convenience init(_ address: RedisAddress) throws {
    guard case .sentinels(let sentinels, let primary) = address.place else {
      try self.init(to: address.place, address.tls, named: address.name)
      try introduce(address)
      return
    }
    let place = try RedisSentinels(places: sentinels, tls: address.tls, name: address.name)
      .place(of: primary)
    try self.init(to: place, address.tls, named: "\(address.name) (\(place.name))")
    try introduce(address)
    // A Redis Sentinel's answer may be stale, so verify that this is the primary.
    let role = try demand(RedisCommand("ROLE")).list.first?.text
    guard role == "master" else { throw fault("it is not the primary") }
  }

  /// Opens the connection without authenticating or selecting a database.
  init(
    to place: RedisAddress.Place, _ tls: ClientTLS?, named name: String,
    answerS: Int = RedisConnection.answerS
  ) throws {
    self.name = name
    self.answerS = answerS
    let limitS = min(Self.connectS, answerS)
    do throws(ClientSocket.Failure) {
      let until = RelayClock.monotonic + Int64(limitS) * 1000
      switch place {
      case .socket(let path): socket = try ClientSocket(path: path, until: until)
      case .host(let host, let port):
        socket = try ClientSocket(host: host, port: port, tls, until: until)
      case .sentinels, .cluster: throw .broken("not a single server")
      }
    } catch {
      let reason =
        switch error {
        case .late: "no reply within \(limitS) s"
        case .broken(let words): words
        }
      throw RelayFault("\(name): no connection: \(reason)")
    }
    do throws(RelayFault) {
      reader = try RedisReplyReader()
    } catch {
      throw RelayFault("\(name): \(error)")
    }
  }

  func authenticate(_ address: RedisAddress) throws {
    guard let password = address.password else { return }
    var command = RedisCommand("AUTH")
    if let user = address.user { command.add(user) }
    command.add(password)
    let reply = try ask(command)
    out.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    if case .error(let words) = reply {
      throw fault("authentication failed: \(words)")
    }
  }

  func introduce(_ address: RedisAddress) throws {
    try authenticate(address)
    if address.database != 0 {
      _ = try demand(RedisCommand("SELECT", "\(address.database)"))
    }
    _ = try ahead()
    reader.limit = RedisReplyReader.mostBytes
  }

  /// The difference of Redis's clock from ours in milliseconds, rounded to whole seconds. It is
  /// read again regularly, because clocks are adjusted.
  func ahead() throws -> Int64 {
    guard RelayClock.monotonic >= nextLook else { return aheadMS }
    let time = try demand(RedisCommand("TIME")).list.compactMap(\.number)
    // Limits the time, because later code adds and compares it.
    guard time.count == 2, (0...Self.lastSecond).contains(time[0]),
      (0..<1_000_000).contains(time[1])
    else { throw fault("invalid reply to TIME") }
    let difference = Double(time[0] * 1000 + time[1] / 1000 - RelayClock.now)
    aheadMS = Int64((difference / 1000).rounded()) * 1000
    nextLook = RelayClock.monotonic + Self.clockMS
    return aheadMS
  }

  func fault(_ words: String) -> RelayFault { RelayFault("\(name): \(words)") }

  private static let asking = RedisCommand("ASKING")

  /// Sends the command and waits for its reply, which may be a Redis error. Throws without a reply:
  /// then the connection is unusable, and Redis may or may not have run the command.
  func ask(_ command: RedisCommand) throws -> RedisReply {
    let until = RelayClock.monotonic + Int64(answerS) * 1000
    out.removeAll(keepingCapacity: out.capacity <= Self.keptBytes)
    let isAsking = isAsking
    if isAsking { Self.asking.write(to: &out) }
    command.write(to: &out)
    try send(until)
    if isAsking { _ = try take(until) }
    return try take(until)
  }

  /// Sends a command whose reply comes later: then the socket is readable.
  func begin(_ command: RedisCommand) throws {
    out.removeAll(keepingCapacity: true)
    command.write(to: &out)
    try send(RelayClock.monotonic + Int64(answerS) * 1000)
  }

  /// The reply to that command, of which some has arrived.
  func end() throws -> RedisReply {
    let reply = try take(RelayClock.monotonic + Int64(answerS) * 1000)
    if case .error(let words) = reply { throw refusal(words) }
    return reply
  }

  var readable: CInt { socket.descriptor }

  /// The same, but throws a Redis error.
  func demand(_ command: RedisCommand) throws -> RedisReply {
    let reply = try ask(command)
    if case .error(let words) = reply { throw refusal(words) }
    return reply
  }

  func refusal(_ words: String) -> RedisRefusal { RedisRefusal(name: name, words: words) }

  /// Sends all commands before it waits for the first reply. Not for a connection with `isAsking`.
  func ask(_ commands: [RedisCommand]) throws -> [RedisReply] {
    let until = RelayClock.monotonic + Int64(answerS) * 1000
    out.removeAll(keepingCapacity: out.capacity <= Self.keptBytes)
    for command in commands { command.write(to: &out) }
    try send(until)
    return try commands.map { _ in try take(until) }
  }

  private func send(_ until: Int64) throws {
    do {
      try out.withUnsafeBytes { try socket.send($0, until: until) }
    } catch let failure as ClientSocket.Failure {
      throw timeout(failure)
    }
  }

  private func take(_ until: Int64) throws -> RedisReply {
    while true {
      do {
        if let reply = try reader.next() { return reply }
        try room.withUnsafeMutableBytes { room in
          let count = try socket.receive(into: room, until: until)
          try reader.feed(UnsafeRawBufferPointer(rebasing: room[..<count]))
        }
      } catch let failure as ClientSocket.Failure {
        throw timeout(failure)
      } catch let error as RelayFault {
        throw RedisTimeout(fault: fault("invalid Redis reply: \(error)"))
      }
    }
  }

  private func timeout(_ failure: ClientSocket.Failure) -> RedisTimeout {
    switch failure {
    case .late: RedisTimeout(fault: fault("no reply within \(answerS) s"), isLate: true)
    case .broken(let words): RedisTimeout(fault: fault("the connection is lost: \(words)"))
    }
  }
}
