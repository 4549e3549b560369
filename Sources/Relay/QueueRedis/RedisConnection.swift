import COpenSSL
import Foundation

/// One connection to Redis. One thread at a time uses it: `RedisNode` sees to that.
///
/// hiredis reads the answers. Sockets and TLS are ours: so TLS needs nothing of the hiredis that is
/// installed, and each question has one time at which it ends.
final class RedisConnection: @unchecked Sendable {
  private static let connectS = 3
  private static let answerS = 10
  /// What the room for a batch may keep between two of them.
  private static let keptBytes = 1 << 20

  private let socket: RedisSocket
  private let reader: RedisReplyReader
  private var out: [UInt8] = []
  /// hiredis gives its own room back, and takes it anew, where it gets more than this at once.
  private var room = [UInt8](repeating: 0, count: 1 << 14)
  private let name: String
  private let answerS: Int
  private static let clockMS: Int64 = 10_000
  /// Of the year 9999.
  private static let lastSecond: Int64 = 253_402_300_799
  private var aheadMS: Int64 = 0
  private var nextLook: Int64 = 0
  /// Each command is one that another node of the cluster sent here, for this once.
  var isAsking = false

  convenience init(_ address: RedisAddress) throws {
    guard case .sentinels(let sentinels, let primary) = address.place else {
      try self.init(to: address.place, address.tls, named: address.name)
      try introduce(address)
      return
    }
    let place = try RedisSentinels(sentinels, address.tls, address.name).place(of: primary)
    try self.init(to: place, address.tls, named: "\(address.name) (\(place.name))")
    try introduce(address)
    // What the sentinels say may be older than what happened.
    let role = try demand(RedisCommand("ROLE")).list.first?.text
    guard role == "master" else { throw fault("it is not the primary") }
  }

  /// Without a word to whom it leads to.
  init(
    to place: RedisAddress.Place, _ tls: RedisTLS?, named name: String,
    answerS: Int = RedisConnection.answerS
  ) throws {
    Self.ignorePipes
    self.name = name
    self.answerS = answerS
    let limitS = min(Self.connectS, answerS)
    do throws(RedisSocket.Failure) {
      socket = try RedisSocket(place, tls, until: RelayClock.steady + Int64(limitS) * 1000)
    } catch {
      let reason =
        switch error {
        case .late: "nothing within \(limitS) s"
        case .broken(let words): words
        }
      throw QueueFault(description: "\(name): no connection: \(reason)")
    }
    do throws(RedisReplyReader.Fault) {
      reader = try RedisReplyReader()
    } catch {
      throw QueueFault(description: "\(name): \(error)")
    }
  }

  /// OpenSSL writes without MSG_NOSIGNAL.
  private static let ignorePipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

  func authenticate(_ address: RedisAddress) throws {
    guard let password = address.password else { return }
    var command = RedisCommand("AUTH")
    if let user = address.user { command.add(user) }
    command.add(password)
    let reply = try ask(command)
    out.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
    if case .error(let words) = reply {
      throw fault("it refuses user or password: \(words)")
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

  /// How far the clock of Redis is before this machine's, in whole seconds, as milliseconds. It is
  /// asked now and then: clocks are set.
  func ahead() throws -> Int64 {
    guard RelayClock.steady >= nextLook else { return aheadMS }
    let time = try demand(RedisCommand("TIME")).list.compactMap(\.number)
    // Whatever its clock shows, times are added and compared from here on.
    guard time.count == 2, (0...Self.lastSecond).contains(time[0]),
      (0..<1_000_000).contains(time[1])
    else { throw fault("it does not tell its time") }
    let difference = Double(time[0] * 1000 + time[1] / 1000 - RelayClock.now)
    aheadMS = Int64((difference / 1000).rounded()) * 1000
    nextLook = RelayClock.steady + Self.clockMS
    return aheadMS
  }

  func fault(_ words: String) -> QueueFault { QueueFault(description: "\(name): \(words)") }

  private static let asking = RedisCommand("ASKING")

  /// Sends it and waits for the answer, which may be an error of Redis. It throws if there is none:
  /// then the connection is of no use any more, and nobody knows whether the command was done.
  func ask(_ command: RedisCommand) throws -> RedisReply {
    let until = RelayClock.steady + Int64(answerS) * 1000
    out.removeAll(keepingCapacity: out.capacity <= Self.keptBytes)
    let isAsking = isAsking
    if isAsking { Self.asking.write(to: &out) }
    command.write(to: &out)
    try send(until)
    if isAsking { _ = try take(until) }
    return try take(until)
  }

  /// As above; an error of Redis is thrown.
  func demand(_ command: RedisCommand) throws -> RedisReply {
    let reply = try ask(command)
    if case .error(let words) = reply { throw refusal(words) }
    return reply
  }

  func refusal(_ words: String) -> RedisRefusal { RedisRefusal(name: name, words: words) }

  /// Sends all of them before it waits for the first answer. Never on a connection that `isAsking`.
  func ask(_ commands: [RedisCommand]) throws -> [RedisReply] {
    let until = RelayClock.steady + Int64(answerS) * 1000
    out.removeAll(keepingCapacity: out.capacity <= Self.keptBytes)
    for command in commands { command.write(to: &out) }
    try send(until)
    return try commands.map { _ in try take(until) }
  }

  private func send(_ until: Int64) throws {
    do {
      try out.withUnsafeBytes { try socket.send($0, until: until) }
    } catch let failure as RedisSocket.Failure {
      throw silence(failure)
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
      } catch let failure as RedisSocket.Failure {
        throw silence(failure)
      } catch let error as RedisReplyReader.Fault {
        throw RedisSilence(fault("its answer is none of Redis: \(error)"))
      }
    }
  }

  private func silence(_ failure: RedisSocket.Failure) -> RedisSilence {
    switch failure {
    case .late: RedisSilence(fault("no answer within \(answerS) s"), isLate: true)
    case .broken(let words): RedisSilence(fault("the connection is lost: \(words)"))
    }
  }
}
