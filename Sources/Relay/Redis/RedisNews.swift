import CProcess
import CSystem
import Foundation
import Synchronization

/// Notices changes by reads that block until there are some, on one thread. Each has a connection: one
/// for each app of a cluster, whose streams are on one node, or one for 32 apps.
final class RedisNews: Sendable {
  /// A read that blocks, or waits to begin.
  private struct Read {
    /// The parts that are read, by app.
    var parts: [String: Set<QueuePart>]
    /// The last numbers in the streams, by app. Its watches know of all before.
    var numbers: [String: [String]] = [:]
    var connection: RedisConnection?
    var isBlocked = false
    /// When it begins, or ends without a reply (monotonic).
    var time: Int64 = 0
    var began: Int64 = 0
    var pauseMS: Int64 = 0
    var failures = 0
  }

  /// The reads, and which apps they are of.
  private struct Reads {
    var all: [String: Read] = [:]
    var groups: [String: Int] = [:]
    /// Of the watches.
    var generation = -1
  }

  /// As many apps share a read, whose cost is that of all its apps.
  private static let appsTogether = 32
  /// Redis ends a read without news after this time.
  private static let blockMS: Int64 = 30_000
  private static let patienceMS: Int64 = 10_000
  /// While changes follow one another, the pauses between two reads grow up to this.
  private static let longestPauseMS: Int64 = 50
  /// A change does not follow another after this time.
  private static let quietMS: Int64 = 5
  private static let firstTroubleMS: Int64 = 100
  private static let longestTroubleMS: Int64 = 1000
  /// As `lastNumbers` returns them.
  private static let streams: [(name: String, part: QueuePart)] = [
    ("in", .entries), ("urgent", .entries), ("bulk", .entries), ("wake", .entries),
    ("out", .outcomes),
  ]

  private static func key(_ stream: String, of app: String) -> String { "apns:{\(app)}:\(stream)" }

  private static func app(of key: String) -> String? {
    key.lastIndex(of: "}").map { String(key[..<$0].dropFirst(key.utf8.count > 6 ? 6 : 0)) }
  }

  private let news: QueueNews
  private let wakeup = csystem_wakeup()
  /// Other relays on this system, by their descriptors.
  private let processes = Mutex<[pid_t: CInt]>([:])

  init(_ news: QueueNews) { self.news = news }

  deinit {
    close(wakeup)
    for descriptor in processes.withLock({ $0.values }) { close(descriptor) }
  }

  /// The watched parts have changed.
  func wake() { csystem_wake(wakeup) }

  /// Tells when this process ends.
  func follow(_ process: pid_t) {
    let isNew = processes.withLock { processes in
      guard processes[process] == nil else { return false }
      processes[process] = process_follow(process)
      return true
    }
    if isNew { wake() }
  }

  /// Tells those who watch the queue, while it exists.
  func start(_ queue: RedisQueue) {
    Thread.begin("news") { [self, weak queue] in
      var reads = Reads()
      var readable: Set<CInt> = []
      while let waitMS = queue.map({ turn($0, &reads, readable) }) {
        readable = wait(for: reads.all.values.filter(\.isBlocked).compactMap(\.connection), waitMS)
      }
    }
  }

  /// Returns the sockets that are readable.
  private func wait(for connections: [RedisConnection], _ milliseconds: Int64) -> Set<CInt> {
    let followed = processes.withLock { $0 }
    var watched = ([wakeup] + connections.map(\.readable) + followed.values).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    _ = poll(&watched, nfds_t(watched.count), CInt(clamping: milliseconds))
    csystem_empty(wakeup)
    let readable = Set(watched.filter { $0.revents != 0 }.map(\.fd))
    for (process, descriptor) in followed where readable.contains(descriptor) {
      processes.withLock { $0[process] = nil }
      close(descriptor)
      news.tell()
    }
    return readable
  }

  /// Ends and begins reads. Returns how long to wait for the next turn.
  private func turn(_ queue: RedisQueue, _ reads: inout Reads, _ readable: Set<CInt>) -> Int64 {
    followWatches(&reads, isCluster: queue.connections.isCluster)
    for name in reads.all.keys {
      var read = reads.all[name]!
      do {
        try move(&read, queue, isReadable: read.connection.map { readable.contains($0.readable) })
      } catch {
        // The watches meet the error too, and report it.
        for (app, parts) in read.parts { news.tell(parts, of: app) }
        let pauseMS = Self.firstTroubleMS << min(read.failures, 10)
        read = Read(parts: read.parts, failures: read.failures + 1)
        read.time = RelayClock.monotonic + min(pauseMS, Self.longestTroubleMS)
      }
      reads.all[name] = read
    }
    return max(0, (reads.all.values.map(\.time).min() ?? .max) - RelayClock.monotonic)
  }

  private func followWatches(_ reads: inout Reads, isCluster: Bool) {
    let generation = news.generation
    guard reads.generation != generation else { return }
    reads.generation = generation
    var wanted: [String: [String: Set<QueuePart>]] = [:]
    for (app, parts) in news.parts {
      let group = reads.groups[app] ?? reads.groups.count / Self.appsTogether
      reads.groups[app] = group
      wanted[isCluster ? app : "\(group)", default: [:]][app] = parts
    }
    reads.all = reads.all.filter { $0.value.parts == wanted[$0.key] }
    for (name, parts) in wanted where reads.all[name] == nil {
      reads.all[name] = Read(parts: parts)
    }
  }

  private func move(_ read: inout Read, _ queue: RedisQueue, isReadable: Bool?) throws {
    let now = RelayClock.monotonic
    if read.isBlocked, let connection = read.connection {
      guard isReadable == true else {
        if now >= read.time { throw connection.fault("no reply") }
        return
      }
      end(&read, try connection.end(), at: now)
    }
    if now >= read.time { try begin(&read, queue) }
  }

  /// Notes which apps have news.
  private func end(_ read: inout Read, _ reply: RedisReply, at now: Int64) {
    for key in reply.list.compactMap({ $0.list.first?.text }) {
      if let app = Self.app(of: key) { read.numbers[app] = nil }
    }
    let isQuiet = now - read.began > Self.quietMS + read.pauseMS
    read.pauseMS = isQuiet ? 0 : min(Self.longestPauseMS, max(1, 2 * read.pauseMS))
    (read.isBlocked, read.time, read.failures) = (false, now + read.pauseMS, 0)
  }

  /// Tells the apps of their news, and waits for more.
  private func begin(_ read: inout Read, _ queue: RedisQueue) throws {
    for (app, parts) in read.parts where read.numbers[app] == nil {
      let numbers = try queue.run(.lastNumbers, app: app).list.compactMap(\.text)
      guard numbers.count == Self.streams.count else { throw queue.strange("last numbers") }
      read.numbers[app] = numbers
      news.tell(parts, of: app)
    }
    guard let first = read.parts.keys.first else { return }
    let connection =
      try read.connection ?? queue.connections.open(Self.key(Self.streams[0].name, of: first))
    var command = RedisCommand("XREAD", "COUNT", "1", "BLOCK", "\(Self.blockMS)", "STREAMS")
    var after: [String] = []
    for (app, numbers) in read.numbers {
      for (stream, number) in zip(Self.streams, numbers)
      where read.parts[app]?.contains(stream.part) == true {
        command.add(Self.key(stream.name, of: app))
        after.append(number)
      }
    }
    for number in after { command.add(number) }
    try connection.begin(command)
    (read.connection, read.isBlocked, read.began) = (connection, true, RelayClock.monotonic)
    read.time = read.began + Self.blockMS + Self.patienceMS
  }
}
