import CAPNS
import Client
import Logging

/// A worker's figures and its problem. Other threads see them twice a second, and a new problem at once.
final class WorkerReport {
  let log: Logger
  // No exclusivity checks, as in `HeldEntry`.
  @exclusivity(unchecked) private(set) var problem: WorkerProblem
  @exclusivity(unchecked) var figures: WorkerFigures
  private let forwarded: ForwardedLines
  private let control: WorkerControl
  private var nextFigures: Int64 = 0
  /// Called if there are too few file descriptors or too little memory.
  var lacksRoom: () -> Void = {}
  /// Something may have happened since the figures were shown.
  var isOld = false

  init(_ log: Logger, _ forwarded: ForwardedLines, _ control: WorkerControl) {
    (self.log, self.forwarded, self.control) = (log, forwarded, control)
    problem = WorkerProblem(log)
    // Counters continue if the worker has rested.
    figures = control.shown.withLock { $0.figures }
  }

  func begin(_ credentials: RelayCredentials) {
    figures.certificateEnd = credentials.certificateEnd
    figures.heard = RelayClock.monotonic
    control.shown.withLock { $0.figures = figures }
  }

  func note(_ error: LibraryError?) {
    guard let error else { return }
    if error.status == APNS_ERR_MEMORY { lacksRoom() }
    problem.note(error, at: RelayClock.monotonic)
    showSoon()
  }

  func failed(_ words: String, _ cause: WorkerProblem.Cause = .other) {
    problem.report(words, cause)
    showSoon()
  }

  func failed(_ error: any Error, _ cause: WorkerProblem.Cause) {
    failed("the queue: \(error)", cause)
  }

  @inline(__always)
  func receive(_ result: PushResult, at now: Int64, isRecording: Bool) {
    if problem.receive(result, at: now, isRecording: isRecording) { showSoon() }
  }

  func clear() { problem.clear() }

  func clear(_ cause: WorkerProblem.Cause) {
    if problem.clear(cause) { showSoon() }
  }

  func use(_ agreement: Agreement) {
    if figures.disagreement != agreement.words || figures.isFirst != agreement.isFirst {
      showSoon()
    }
    figures.use(agreement)
  }

  func showSoon() { nextFigures = 0 }

  /// The worker ends.
  func leave() { problem.standing.leave(at: RelayClock.monotonic, log) }

  /// When the figures are shown next (monotonic), if nothing happens.
  var next: Int64 { isOld ? nextFigures : .max }

  /// Shows them if that is due. `complete` adds what others know.
  func show(at now: Int64, _ complete: (inout WorkerFigures) -> Void) {
    guard now >= nextFigures else { return }
    nextFigures = now + 500
    isOld = false
    problem.standing.look(at: now, log)
    forwarded.isQuiet = problem.standing.words != nil
    figures.isStopped = problem.standing.words != nil
    figures.problem = problem.words
    figures.heard = now
    complete(&figures)
    control.shown.withLock { $0.figures = figures }
  }
}
