import ArgumentParser
import CAPNS
import Client

/// One run of `apns send`: reads the list, fills in the template, and sends.
struct SendRun {
  /// The number of notifications between two checks for outcomes.
  private static let batch = 64
  /// The seconds without an outcome after which the service is probed.
  private static let timeUntilProbe = 10.0
  /// How many ms a call of the session may wait, so that the tool draws progress and notices
  /// Ctrl-C.
  private static let slice: UInt32 = 200

  private let options: SendOptions
  private let credentials: ProviderCredentials
  private let source: DeviceSource
  private var record: RunRecord
  private var pace: SendPace
  private var metrics: MetricsFile?
  private var session: PushSession?
  private var isConnected = false
  /// Devices of the list so far, with any outcome.
  private var begun = 0
  private var lastSent = 0
  private var passedOver = 0
  private var skippedShare = 0.0
  private var lastProbe = Clock.now
  private var failure: LibraryError?
  private var hasReportedInterruption = false
  private var hasReportedMetrics = false

  init(_ options: SendOptions, _ credentials: ProviderCredentials, _ template: Template) throws {
    self.options = options
    self.credentials = credentials
    source = try DeviceSource(options, template)
    metrics = options.metrics.map { MetricsFile($0) }
    record = try RunRecord(options, template, listSize: source.size)
    pace = SendPace(rate: options.rate, replayed: source.replayed, speed: options.speed ?? 1)
  }

  mutating func go() throws -> ExitCode {
    var wanted = options.sessionOptions(credentials)
    wanted.waitMaxMS = Self.slice
    wanted.log = record.log
    // The recorded provider may have sent what these checks refuse.
    if options.replay != nil { wanted.checks = -1 }
    let session = try Exit.refusing {
      try PushSession(wanted, credentials: credentials, delivery: options.delivery)
    }
    self.session = session
    do {
      // Detects an unwritable file before anything is sent.
      try Exit.refusing("--metrics") { try metrics?.write(session) }
      try sendAll(session)
      try settle(session)
      writeMetrics(session)
      if lastSent > 0 { try record.results?.end(lastSent) }
      try record.recorder?.finish()
      if let alike = record.recorder?.alike, alike > 0 {
        record.show(
          "--record: \(alike) notifications went to tokens with the same first 8 digits as others "
            + "in flight: the recording may mix up their retries")
      }
    } catch let fault as FileFault {
      record.progress.clear()
      session.close(within: 0)
      throw Exit.report(fault.description, Exit.usage)
    }
    report()
    if failure != nil { return Exit.unreachable }
    return record.whole.isAllAccepted && Interruption.times == 0 ? .success : Exit.someRejected
  }

  // MARK: Sending

  /// Connects before the first notification. If all have outcomes, no connection is needed. False
  /// if interrupted.
  private mutating func connect(_ session: PushSession) throws -> Bool {
    let limit = Clock.now + min(options.service.connectTimeout, options.deadline ?? .infinity)
    while !isConnected {
      do throws(LibraryError) {
        try session.connect()
        isConnected = true
      } catch {
        if Interruption.times > 0 { return false }
        if error.status == APNS_ERR_TIMEOUT, Clock.now < limit { continue }
        try record.write()
        throw Exit.unreached(error, options.provider.shown)
      }
    }
    return true
  }

  private mutating func sendAll(_ session: PushSession) throws {
    var sinceLook = 0
    while Interruption.times == 0 {
      while !source.isReady(within: CInt(Self.slice)), Interruption.times == 0 {
        _ = try? session.flush()
        try takeOutcomes(session, within: 0)
      }
      let results = record.results
      let isAtMostOnce = options.atMostOnce
      let next = try source.next { number in
        guard let done = results?.done, done.contains(number) else { return true }
        return done.expired.contains(number) || !isAtMostOnce && done.doubtful.contains(number)
      }
      guard let next else { break }
      begun += 1
      guard let device = next.device else {
        passedOver += 1
        skippedShare = source.share ?? 0
        continue
      }
      let number = next.number
      switch device {
      case .refused(let to, let reason):
        if results?.done.contains(number) == true {
          passedOver += 1
        } else {
          record.refuse(number, to, reason)
        }
      case .ready(let to, let payload):
        let sent = SentNotification(
          number: number, token: to.token, channel: to.channel,
          isAgain: results?.isInDoubt(number) ?? false)
        if sent.isAgain, isAtMostOnce {
          record.take(
            SendOutcome(sent: sent, kind: .unknown, reason: "an interrupted run may have sent it"))
        } else {
          try record.checkFirst(payload)
          guard try connect(session) else { return }
          try results?.begin(number)
          try awaitTurn(session, number)
          guard try send(sent, payload, session) else { return }
          lastSent = max(lastSent, number)
        }
      }
      sinceLook += 1
      if sinceLook >= Self.batch {
        sinceLook = 0
        try takeOutcomes(session, within: 0)
      }
    }
  }

  /// False if it was not sent, because the service stays unreachable or the run was interrupted.
  private mutating func send(
    _ sent: SentNotification, _ payload: [UInt8], _ session: PushSession
  ) throws -> Bool {
    if !source.replayed.isEmpty {
      session.change(options.delivery(of: source.replayed[sent.number - 1]))
    }
    record.recorder?.send(sent.token)
    var lostSince: Double?
    var hasReportedLoss = false
    while true {
      do throws(LibraryError) {
        try session.send(sent, payload)
        return true
      } catch {
        if error.status == APNS_ERR_ARGUMENT {
          let to = Addressee(token: sent.token, channel: sent.channel)
          record.recorder?.takeBack(sent.token)
          record.refuse(sent.number, to, error.message)
          return true
        }
        if error.status != APNS_ERR_FULL {
          guard error.isConnection else { return stop(sent, error) }
          let isSlice = error.status == APNS_ERR_TIMEOUT
          if isSlice, Interruption.times > 0 { return stop(sent, nil) }
          // A response shows that the service is reachable.
          let since = max(lostSince ?? Clock.now, record.lastOutcome)
          lostSince = since
          let lost = Clock.now - since
          let isReportable =
            !isSlice
            || error.cause != APNS_CAUSE_ANSWER_TIMEOUT && lost >= options.service.connectTimeout
          if isReportable, !hasReportedLoss {
            record.show("\(explained(error)); retrying")
            hasReportedLoss = true
          }
          if lost >= options.patience || Interruption.times > 0 { return stop(sent, error) }
          if !isSlice { Clock.pause(0.1) }
        }
        try takeOutcomes(session, within: 0)
      }
    }
  }

  /// The session did not take it, and the run ends. False.
  private mutating func stop(_ sent: SentNotification, _ error: LibraryError?) -> Bool {
    record.recorder?.takeBack(sent.token)
    failure = error
    return false
  }

  private mutating func awaitTurn(_ session: PushSession, _ number: Int) throws {
    guard let due = pace.due(number) else { return }
    while Clock.now < due, Interruption.times == 0 {
      _ = try? session.flush()
      try takeOutcomes(session, within: Int32(min(100, max(1, (due - Clock.now) * 1000))))
    }
  }

  /// Sending is more important than its metrics: a full disk does not stop it.
  private mutating func writeMetrics(_ session: PushSession) {
    do throws(FileFault) {
      try metrics?.write(session)
    } catch {
      if !hasReportedMetrics { record.show("Warning: --metrics: \(error)") }
      hasReportedMetrics = true
    }
  }

  /// Takes the available outcomes and records them before anything else is sent.
  private mutating func takeOutcomes(_ session: PushSession, within milliseconds: Int32) throws {
    if metrics?.isDue ?? false { writeMetrics(session) }
    var wait = milliseconds
    do throws(LibraryError) {
      while let outcome = try session.next(within: wait) {
        record.take(outcome)
        wait = 0
      }
    } catch {
      // The next notification gets the same error, and waits until it is resolved.
      if milliseconds > 0 { Clock.pause(Double(milliseconds) / 1000) }
    }
    if Clock.now - max(record.lastOutcome, lastProbe) > Self.timeUntilProbe {
      lastProbe = Clock.now
      if session.unresolved > 0 { _ = try? session.drain(within: 1000) }
    }
    try record.write()
    reportInterruption(session)
    let ended = record.tally.ended
    record.progress.show(
      record.whole, ended: ended, waiting: session.unresolved,
      share: source.share.map { $0 * Double(ended + passedOver) / Double(max(begun, 1)) },
      skipped: skippedShare, problem: session.problem)
  }

  /// Waits for the outcomes of everything that was sent.
  private mutating func settle(_ session: PushSession) throws {
    let began = Clock.now
    _ = try? session.flush()
    while session.unresolved > 0, Interruption.times < 2, failure == nil || Clock.now - began < 5,
      Clock.now - began < options.drain
    {
      reportInterruption(session)
      do throws(LibraryError) {
        _ = try session.drain(within: 200)
      } catch {
        if !error.isConnection || Clock.now - began >= options.patience { failure = error }
        Clock.pause(0.1)
      }
      try takeOutcomes(session, within: 0)
    }
    let limit = Clock.now + 2
    while Interruption.times < 2, Clock.now < limit {
      if session.close(within: Int32((limit - Clock.now) * 1000)) { break }
      try takeOutcomes(session, within: 0)
    }
    session.close(within: 0)
    try takeOutcomes(session, within: 0)
    record.progress.clear()
  }

  private mutating func reportInterruption(_ session: PushSession) {
    guard Interruption.times > 0, !hasReportedInterruption, session.unresolved > 0 else { return }
    hasReportedInterruption = true
    record.show(
      "Interrupted: waiting for the outcomes of \(Printable.grouped(session.unresolved)) "
        + "notifications in flight; a second Ctrl-C ends immediately")
  }

  /// The library's message, and what an alert in the handshake means.
  private func explained(_ error: LibraryError) -> String {
    let words = AlertCause.words(error, options.provider.shown)
    return error.message + (words.map { ": \($0)" } ?? "")
  }

  private func report() {
    var report = RunReport(record)
    report.isApples =
      PushTarget(
        host: options.service.address?.host, sandbox: options.service.sandbox, offline: false
      ).isApple
    report.passedOver = passedOver
    report.isAtMostOnce = options.atMostOnce
    report.isResumable = options.results != nil && options.listFile != nil
    report.resent = session?.resent ?? 0
    report.failure = failure.map { options.json ? $0.message : explained($0) }
    report.isWhole = Interruption.times == 0 && failure == nil
    if options.json {
      StandardStream.output.write(report.json + "\n")
    } else {
      StandardStream.error.write(report.lines.map { Printable.line($0) + "\n" }.joined())
    }
  }
}
