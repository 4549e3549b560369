import Synchronization

/// The entries that the workers of this process hold in Redis, as far as the process knows.
final class RedisHeldEntries: Sendable {
  private struct Held {
    var place: StreamPlace
    /// The positions that have an outcome in Redis, as far as this relay knows.
    var resolved: PositionSet
  }

  private struct State {
    /// By their local numbers.
    var held: [WorkerID: [Int64: Held]] = [:]
    /// The last number of an entry or a call; they count up.
    var numbers: Int64 = 0
    /// Workers that may hold unknown entries, because a reply was lost.
    var doubtful: Set<WorkerID> = []
    /// `RedisConnections.losses` at the last moment when Redis and the worker agreed about its
    /// entries. After a crash, Redis may assign finished entries to the worker again.
    var losses: [WorkerID: Int] = [:]

    mutating func number() -> Int64 {
      numbers += 1
      return numbers
    }
  }

  private let state = Mutex(State())

  /// The number of a call.
  func number() -> Int64 { state.withLock { $0.number() } }

  /// Redis may have other entries of the worker.
  func isInDoubt(_ workerID: WorkerID, losses: Int) -> Bool {
    state.withLock {
      $0.doubtful.contains(workerID) || $0.losses[workerID, default: 0] != losses
    }
  }

  func doubt(_ workerID: WorkerID) { _ = state.withLock { $0.doubtful.insert(workerID) } }

  /// Redis has the same entries of the worker.
  func agree(_ workerID: WorkerID, losses: Int) {
    state.withLock {
      $0.doubtful.remove(workerID)
      $0.losses[workerID] = losses
    }
  }

  func forget(_ workerID: WorkerID) {
    state.withLock {
      $0.held[workerID] = nil
      $0.doubtful.remove(workerID)
      $0.losses[workerID] = nil
    }
  }

  func places(of workerID: WorkerID) -> [StreamPlace] {
    state.withLock { $0.held[workerID]?.values.map(\.place) ?? [] }
  }

  /// Gives the claimed entries their numbers.
  func add(_ claimed: inout ClaimedEntries, of workerID: WorkerID) {
    state.withLock { state in
      var held = state.held.removeValue(forKey: workerID) ?? [:]
      for index in claimed.entries.indices {
        let number = state.number()
        claimed.entries[index].number = number
        held[number] = Held(
          place: claimed.places[index], resolved: claimed.entries[index].resolved)
      }
      state.held[workerID] = held
    }
  }

  /// What Redis has of the entries of these updates.
  func known(_ updates: [EntryUpdate], of workerID: WorkerID) -> [RecordedBatch.Known] {
    state.withLock { state in
      let held = state.held[workerID] ?? [:]
      return updates.indices.map {
        RecordedBatch.Known(held[updates[$0].number]?.resolved ?? [])
      }
    }
  }

  /// Redis has these updates.
  func record(_ updates: [EntryUpdate], of workerID: WorkerID) {
    state.withLock { state in
      guard var held = state.held.removeValue(forKey: workerID) else { return }
      defer { state.held[workerID] = held }
      for place in updates.indices {
        let number = updates[place].number
        if updates[place].disposition != .held {
          held[number] = nil
        } else if var one = held[number] {
          updates[place].forEachOutcome { one.resolved.insert($0.pointee.position) }
          held[number] = one
        }
      }
    }
  }
}
