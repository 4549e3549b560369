/// The workers of each app in Redis. Their entries wait again once they end.
extension RedisQueue {
  /// In one pipeline. Each command has the names of all keys, about a kilobyte.
  private static let renewedTogether = 256

  package func join(app: String, named name: String, at now: Int64) throws -> WorkerID {
    try remember(app)
    let time = try shared(now, app)
    let reply = try run(.join, app: app, "\(time) \(ProcessMark.own) \(name)", "\(time)")
    guard let number = reply.number else { throw strange("join") }
    let workerID = WorkerID(number: number, app: app)
    held.agree(workerID, losses: connections.losses(of: Self.key(app)))
    return workerID
  }

  package func renew(_ workerID: WorkerID, at now: Int64) throws -> Bool {
    let time = try shared(now, workerID.app)
    let reply = try run(.renew, app: workerID.app, "\(workerID.number)", "\(time)")
    switch reply.number {
    case 1: return true
    case 0: break
    default: throw strange("renew")
    }
    held.forget(workerID)
    return false
  }

  package func renew(_ workerIDs: [WorkerID], at now: Int64) throws -> Set<WorkerID> {
    var lost: Set<WorkerID> = []
    for start in stride(from: 0, to: workerIDs.count, by: Self.renewedTogether) {
      let some = workerIDs[start...].prefix(Self.renewedTogether)
      let commands = try some.map { workerID in
        let time = try shared(now, workerID.app)
        return Self.command("EVALSHA", RedisScript.renew.hash, app: workerID.app) {
          $0.add(workerID.number)
          $0.add(time)
        }
      }
      // Alone, if Redis does not know the script yet, or the lease has expired.
      for (workerID, reply) in zip(some, connections.each(commands))
      where (try? reply.get().number) != 1 {
        if try !renew(workerID, at: now) { lost.insert(workerID) }
      }
    }
    return lost
  }

  package func knows(_ workerID: WorkerID) throws -> Bool {
    try ask([RedisCommand("HEXISTS", "apns:{\(workerID.app)}:workers", "\(workerID.number)")])[0]
      .number
      == 1
  }

  package func leave(_ workerID: WorkerID, line: String, at now: Int64) throws {
    _ = try release(
      workerID, saidLast: "", isAlone: false, at: now,
      "\(TimeText.of(now)) \(line)")
    held.forget(workerID)
  }

  package func reclaim(silentSince: Int64, at now: Int64) throws -> Int {
    let apps = try knownApps().filter { !connections.isUnreachable(Self.key($0)) }
    let replies = connections.each(apps.map { RedisCommand("HGETALL", "apns:{\($0)}:workers") })
    var (count, fault): (Int, (any Error)?) = (0, nil)
    var heard = 0
    var processes = RedisProcesses()
    for (app, reply) in zip(apps, replies) {
      for worker in (try? reply.get().pairs) ?? [] { processes.note(worker, app: app) }
    }
    for (app, reply) in zip(apps, replies) {
      do {
        count += try reclaim(app, reply.get().pairs, &processes, silentSince, now)
        heard += 1
      } catch {
        fault = error
      }
    }
    // Part of a cluster may be unreachable, which the workers of its apps report.
    if heard == 0, let fault { throw fault }
    return count
  }

  private func reclaim(
    _ app: String, _ workers: [(name: String, value: String)], _ processes: inout RedisProcesses,
    _ silentSince: Int64, _ now: Int64
  ) throws -> Int {
    var limit = try shared(silentSince, app)
    let outages = connections.outages(of: Self.key(app))
    let backSince = returns.withLock { returns in
      if returns[app, default: Return()].outages != outages {
        returns[app] = Return(outages: outages, since: now)
      }
      return returns[app]?.since
    }
    // After an outage every worker looks silent. Give live workers a full lease to renew before
    // reclaiming.
    if let backSince, silentSince < backSince, backSince <= now { limit = .min }
    var count = 0
    for (number, said) in workers {
      let parts = said.split(separator: " ", maxSplits: 2)
      guard parts.count == 3, let number = Int64(number), let heard = Int64(parts[0])
      else { continue }
      let mark = String(parts[1])
      let isDead = ProcessMark.isDead(mark)
      if !isDead, mark != ProcessMark.own, let process = ProcessMark.process(mark) {
        follower.withLock { $0?.follow(process) }
      }
      guard isDead || heard < limit else { continue }
      count += try release(
        WorkerID(number: number, app: app), saidLast: said,
        isAlone: processes.holding(parts[1...], of: self) <= 1, at: now,
        "\(TimeText.of(now)) worker \(number) (\(parts[2])) "
          + "\(isDead ? "died" : "fell silent") with it")
    }
    return count
  }

  private func release(
    _ workerID: WorkerID, saidLast: String, isAlone: Bool, at now: Int64, _ line: String
  ) throws -> Int {
    let time = try shared(now, workerID.app)
    let reply = try run(
      .release, app: workerID.app, "\(workerID.number)", saidLast, line, isAlone ? "1" : "0",
      "\(time)")
    return try count(reply, "release")
  }
}

/// Groups workers by process: a process has a worker for each app, and all of them end with it.
private struct RedisProcesses {
  private var workers: [ArraySlice<Substring>: [(app: String, number: String)]] = [:]
  private var counts: [ArraySlice<Substring>: Int] = [:]

  mutating func note(_ worker: (name: String, value: String), app: String) {
    let parts = worker.value.split(separator: " ", maxSplits: 2)
    guard parts.count == 3 else { return }
    workers[parts[1...], default: []].append((app, worker.name))
  }

  /// The number of the process's workers that held entries before any was reclaimed.
  mutating func holding(_ process: ArraySlice<Substring>, of queue: RedisQueue) -> Int {
    if let count = counts[process] { return count }
    let own = workers[process] ?? []
    let streams = ["in", "urgent", "bulk"]
    let replies = queue.connections.each(
      own.flatMap { worker in
        streams.map {
          RedisCommand(
            "XPENDING", "apns:{\(worker.app)}:\($0)", "relay", "-", "+", "1", worker.number)
        }
      })
    let count = stride(from: 0, to: replies.count, by: streams.count).count { first in
      replies[first..<first + streams.count].contains { (try? $0.get().list.isEmpty) == false }
    }
    counts[process] = count
    return count
  }
}
