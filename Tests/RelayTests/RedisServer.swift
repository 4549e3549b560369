import Foundation
import Testing

@testable import Relay

/// A private Redis of a test: at a socket in a private directory, removed with the test.
final class RedisServer {
  private let directory: String
  private let options: [String]
  private var process: Process?

  var socket: String { directory + "/redis.sock" }
  var address: RedisAddress { get throws { try RedisAddress("unix:\(socket)") } }

  /// Its path, if it is installed.
  static let program: String? = {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
    let places = path.split(separator: ":").map { "\($0)/redis-server" }
    return places.first { access($0, X_OK) == 0 }
  }()

  init(_ directory: String, _ options: [String] = []) throws {
    self.directory = directory
    self.options = options
    try start()
  }

  deinit { kill() }

  func start() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(Self.program))
    process.arguments =
      [
        "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", directory,
        "--save", "", "--logfile", directory + "/redis.log",
      ] + options
    try process.run()
    self.process = process
    let limit = Date(timeIntervalSinceNow: 60)
    while true {
      if let connection = try? RedisConnection(address) {
        // It may still be loading its data after a kill.
        if case .error(let words) = try connection.ask(RedisCommand("PING")),
          words.hasPrefix("LOADING")
        {
        } else {
          return
        }
      }
      guard process.isRunning, Date() < limit else {
        let log = (try? String(contentsOfFile: directory + "/redis.log", encoding: .utf8)) ?? ""
        throw RelayFault("redis-server does not start: \(log)")
      }
      usleep(5000)
    }
  }

  /// Sends SIGKILL.
  func kill() {
    guard let process, process.isRunning else { return }
    Glibc.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    unlink(socket)
    self.process = nil
  }

  /// Sends one command on a new connection.
  @discardableResult
  func ask(_ words: String...) throws -> RedisReply {
    var command = RedisCommand()
    for word in words { command.add(word) }
    return try RedisConnection(address).demand(command)
  }

  /// The entries of a stream, as fields.
  func stream(_ key: String) throws -> [[String: String]] {
    try ask("XRANGE", key, "-", "+").list.map { entry in
      Dictionary(
        RedisReply.list(entry.list[1].list).pairs.map { ($0.name, $0.value) },
        uniquingKeysWith: { _, last in last })
    }
  }
}

extension Trait where Self == ConditionTrait {
  static var needsRedis: Self {
    .enabled(
      if: RedisServer.program != nil, "redis-server is not here: apt-get install redis-server")
  }
}
