import NIOConcurrencyHelpers
import NIOCore

/// Plays the service's side of a recording. It begins with the first connection.
///
/// Each push to a recorded device gets the device's next answer, whenever it comes. Any other push
/// gets the answer that the service gave at this time of the recording. A connection ends at the
/// recorded time, or earlier if a push arrives that the recorded end left without a response.
package final class Replay: Sendable {
  /// The answer to one push.
  struct Step {
    /// The position in the recording; nil if the time determined the answer.
    fileprivate var index: Int?
    var answer: Recording.Push.Answer
    var delay: TimeAmount
    fileprivate var connection: Int
  }

  private struct State {
    var began: NIODeadline?
    /// The positions of each device's answers, the next one last.
    var waiting: [[UInt8]: [Int]] = [:]
    var ended: Set<Int> = []
    var open: [any Channel] = []
    var refuse: @Sendable (Int) async -> Void = { _ in }
    /// Ends and refusals, at their recorded times.
    var planned: [Scheduled<Void>] = []
  }

  private let recording: Recording
  private let speed: Double
  /// The positions of those with an answer.
  private let answered: [Int]
  private let state: NIOLockedValueBox<State>

  package init(_ recording: Recording, speed: Double = 1) {
    self.recording = recording
    self.speed = speed
    answered = recording.pushes.indices.filter { recording.pushes[$0].isAnswered }
    var state = State()
    for (index, push) in recording.pushes.enumerated().reversed() {
      state.waiting[push.token, default: []].append(index)
    }
    self.state = NIOLockedValueBox(state)
  }

  /// `refuse` refuses connections for some milliseconds, and returns once the port is closed.
  func refuses(by refuse: @escaping @Sendable (Int) async -> Void) {
    state.withLockedValue { $0.refuse = refuse }
  }

  func begin(_ channel: any Channel) {
    let isFirst = state.withLockedValue { state in
      state.open.append(channel)
      guard state.began == nil else { return false }
      state.began = .now()
      return true
    }
    channel.closeFuture.whenComplete { _ in self.forget(channel) }
    if isFirst { schedule(on: channel.eventLoop) }
  }

  private func forget(_ channel: any Channel) {
    state.withLockedValue { $0.open.removeAll { $0 === channel } }
  }

  private func schedule(on loop: any EventLoop) {
    let ends = recording.ends.map { number, end in
      loop.scheduleTask(in: scaled(end.at)) {
        if let channel = self.state.withLockedValue({ $0.open.first }) {
          self.end(number, on: channel)
        }
      }
    }
    let refusals = recording.refusals.map { refusal in
      loop.scheduleTask(in: scaled(refusal.at)) { self.refuse(for: refusal.milliseconds) {} }
    }
    state.withLockedValue { $0.planned = ends + refusals }
  }

  /// Lets go of the port, and of what is planned, which may be days away.
  func stop() {
    let planned = state.withLockedValue { state in
      defer { (state.planned, state.refuse) = ([], { _ in }) }
      return state.planned
    }
    for task in planned { task.cancel() }
  }

  private func scaled(_ milliseconds: Int) -> TimeAmount {
    .microseconds(Int64(scaledMS(milliseconds) * 1000))
  }

  /// At most 31 years, because a low speed may ask for more than any clock has.
  private func scaledMS(_ milliseconds: Int) -> Double { min(Double(milliseconds) / speed, 1e12) }

  private func refuse(for milliseconds: Int, _ then: @escaping @Sendable () -> Void) {
    let refuse = state.withLockedValue { $0.refuse }
    let count = max(1, Int(scaledMS(milliseconds)))
    Task {
      await refuse(count)
      then()
    }
  }

  // MARK: Pushes

  /// nil if the recording has no answer: it is over.
  func take(_ token: [UInt8]) -> Step? {
    state.withLockedValue { state in
      while let index = state.waiting[token]?.popLast() {
        let push = recording.pushes[index]
        // That end is over: the push would wait for it forever.
        if case .lost = push.answer, state.ended.contains(push.connection) { continue }
        return step(push, at: index)
      }
      return current(state)
    }
  }

  /// The connection ended without the response: the next push to the device gets it.
  func giveBack(_ step: Step, _ token: [UInt8]) {
    guard let index = step.index, recording.pushes[index].isAnswered else { return }
    state.withLockedValue { $0.waiting[token, default: []].append(index) }
  }

  private func step(_ push: Recording.Push, at index: Int?) -> Step {
    Step(
      index: index, answer: push.answer, delay: scaled(push.wait), connection: push.connection)
  }

  /// The answer at this time of the recording.
  private func current(_ state: State) -> Step? {
    guard let began = state.began, let last = recording.pushes.last else { return nil }
    let now = Double((NIODeadline.now() - began).nanoseconds) / 1e6 * speed
    guard now <= Double(last.at + last.wait) else { return nil }
    let after = answered.partitionIndex { Double(recording.pushes[$0].at) > now }
    guard let index = after > 0 ? answered[after - 1] : answered.first else { return nil }
    return step(recording.pushes[index], at: nil)
  }

  // MARK: Ends of connections

  /// Ends the connection as the one in which the push of `step` was lost. False if that end has
  /// happened.
  func end(_ step: Step, on channel: any Channel) -> Bool { end(step.connection, on: channel) }

  @discardableResult
  private func end(_ number: Int, on channel: any Channel) -> Bool {
    guard let end = recording.ends[number] else { return true }
    let isFirst = state.withLockedValue { state in
      state.open.removeAll { $0 === channel }
      return state.ended.insert(number).inserted
    }
    guard isFirst else { return false }
    @Sendable func strike() {
      channel.pipeline.fireUserInboundEventTriggered(FaultEvent.recordedEnd(end))
    }
    // Refused first: the provider connects again immediately.
    if end.refusal > 0 { refuse(for: end.refusal, strike) } else { strike() }
    return true
  }
}

extension Recording.Push {
  fileprivate var isAnswered: Bool {
    switch answer {
    case .accepted, .refused, .reset: true
    case .silence, .lost: false
    }
  }
}
