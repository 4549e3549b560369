/// Pushes a worker's entries: sends their notifications, and takes the responses.
final class EntryPusher {
  private let queue: any QueueEngine
  private let session: ServiceSession
  private let entries: HeldEntries
  private let recorder: OutcomeRecorder
  private let times: ClaimTimes
  private let report: WorkerReport
  /// A response made room for what is not sent yet.
  private(set) var hasRoomAgain = false
  // No exclusivity checks, as in `HeldEntry`.
  @exclusivity(unchecked) private var health = ServiceHealth()

  init(
    _ queue: any QueueEngine, _ session: ServiceSession, _ entries: HeldEntries,
    _ recorder: OutcomeRecorder, _ times: ClaimTimes, _ report: WorkerReport
  ) {
    (self.queue, self.session, self.entries) = (queue, session, entries)
    (self.recorder, self.times, self.report) = (recorder, times, report)
  }

  /// When entries may be brought back (monotonic), if no response comes.
  var next: Int64 { health.mayBeHealthyAt }

  /// Gives the session only what it can write now, so that urgent notifications do not wait behind
  /// others there.
  func send() {
    let (unsent, rates) = (entries.unsent, entries.rates)
    guard !unsent.isEmpty else { return }
    unsent.unblock()
    rates.begin()
    var room = session.room()
    while let (held, turns) = unsent.next {
      let free = unsent.hasUrgent ? room.free : room.free - room.kept
      guard free > 0 else { return }
      let first = held.cursor
      let most = min(
        turns, rates.ofApp == nil && held.bucket.isEmpty ? free : paced(held, upTo: free))
      guard most > 0 else {
        unsent.block(held.bucket)
        continue
      }
      var left = most
      let goesOn = send(held, &left)
      rates.use(most - left, of: held.bucket)
      room.free -= most - left
      unsent.sent(most - left, passed: held.cursor - first, of: held)
      if held.cursor >= held.count {
        unsent.removeFirst(of: held.lane)
        entries.settle(held)
      }
      guard goesOn else { return }
    }
  }

  /// How many of up to `most` notifications may be sent now, beginning with this entry's.
  private func paced(_ held: HeldEntry, upTo most: Int) -> Int {
    // It may have waited for long.
    if entries.rules.expires(held, now: RelayClock.now) { return most }
    do {
      return try entries.rates.take(upTo: most, of: held.bucket, entries.unsent)
    } catch {
      report.failed(error, .staying)
      return 0
    }
  }

  /// Sends up to `left` notifications. False if the session has no room for the rest.
  private func send(_ held: HeldEntry, _ left: inout Int) -> Bool {
    while held.cursor < held.count, left > 0 {
      let position = held.cursor
      guard held.isUnresolved(position) else {
        held.cursor += 1
        continue
      }
      do {
        switch try session.send(held, at: position, replacing: entries.app.collapseByID) {
        case .taken:
          held.inFlight += 1
          left -= 1
        case .full: return false
        case .refused(let reason):
          held.end(
            at: position,
            PushOutcome(
              position: position, token: held.token(at: position), kind: .refused, reason: reason))
        }
      } catch {
        report.note(error)
        return false
      }
      held.cursor += 1
    }
    return true
  }

  func takeResults() {
    let (now, clock) = (RelayClock.monotonic, RelayClock.now)
    let isRecording = recorder.badTokenRecorder != nil
    var hasAny = false
    session.takeResults { result in
      hasAny = true
      if isRecording { recorder.badTokenRecorder?.count(&result, at: clock) }
      let held = result.held
      let unresolved = held.unresolved
      entries.rules.take(result)
      if result.isResponse, held.unresolved < unresolved {
        report.figures.durations[held.lane].add(clock - held.entry.made)
      }
      entries.settle(held)
      health.receive(result, at: now)
      report.receive(result, at: now, isRecording: entries.batch.retryAt == 0)
    }
    hasRoomAgain = hasAny && !entries.unsent.isEmpty
  }

  /// Brings back entries deferred by server errors once APNs is healthy.
  func bringBack(_ now: Int64) {
    guard entries.batch.retryAt == 0, health.bringsBack(at: now) else { return }
    do {
      let count = try queue.bringBack(app: entries.app.name, at: RelayClock.now)
      if count > 0 {
        report.log.notice("APNs is healthy again: \(count) deferred entries are sent now")
        times.nextClaim = now
      }
    } catch {
      report.failed(error, .staying)
    }
  }
}
