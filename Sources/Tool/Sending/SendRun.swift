import ArgumentParser
import CAPNS
import Client
import JSON
import Simulator

/// One run of `apns send`: reads the list, fills in the template, sends, and records outcomes.
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
  private let template: Template
  private let source: DeviceSource
  private let results: ResultFile?
  private let recorder: Recorder?
  /// When the first push of a recording is due.
  private var replayBegan: Double?
  private var metrics: MetricsFile?
  private let progress: ProgressLine
  private var session: PushSession?
  private var tally = OutcomeCounts()
  /// The outcomes of earlier runs for devices without an outcome in this one.
  private var earlier = OutcomeCounts()
  private var output = ""
  private var isChecked: Bool
  private var isConnected = false
  /// Devices of the list so far, with any outcome.
  private var begun = 0
  private var lastSent = 0
  private var passedOver = 0
  private var inDoubt = 0
  private var skippedShare = 0.0
  private var lastOutcome = Clock.now
  private var lastProbe = Clock.now
  private var nextDue = 0.0
  private var failure: LibraryError?
  private var hasReportedInterruption = false
  private var hasReportedMetrics = false

  init(_ options: SendOptions, _ credentials: ProviderCredentials, _ template: Template) throws {
    self.options = options
    self.credentials = credentials
    self.template = template
    isChecked = options.replay != nil
    progress = ProgressLine(
      every: options.json && Terminal.columns(of: .error) == nil ? 0 : options.progress)
    var list: DeviceList?
    if let path = options.listFile {
      list = try Exit.refusing(options.isBroadcast ? "--channels" : "--tokens") {
        try DeviceList(path, of: options.kind, token: options.tokenColumn)
      }
      if let names = list?.names, let missing = template.names.first(where: { !names.contains($0) })
      {
        let known = names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
        throw Exit.refusal(
          "{{\(String(decoding: missing, as: UTF8.self))}} is not a column of \(path), which has \(known)"
        )
      }
    }
    metrics = options.metrics.map { MetricsFile($0) }
    var replayed: [Recording.Push] = []
    if let path = options.replay {
      replayed = try Exit.refusing("--replay") { try Recording(at: path).pushes }
        .filter { !$0.isAgain }
      if replayed.isEmpty { throw Exit.refusal("--replay: \(path): has no pushes") }
    }
    source = DeviceSource(
      options.kind, named: options.isBroadcast ? options.channel : options.tokens, list: list,
      template: template, replayed: replayed)
    recorder = try options.recorder()
    guard let path = options.results, !options.dryRun else {
      results = nil
      return
    }
    var run = Fingerprint()
    run.add(template.identity)
    for part in [options.wire.rawValue, options.topic, options.service.host, options.tokenColumn] {
      run.add((part ?? "").utf8)
    }
    if options.isBroadcast { run.add("channels".utf8) }
    let name = options.listFile?.split(separator: "/").last.map(String.init) ?? ""
    let beginning = ResultFile.Beginning(list: name, size: list?.size, fingerprint: run.value)
    results = try Exit.refusing("--results") {
      try ResultFile(path, beginning, resumes: options.resume)
    }
    inDoubt = results?.inDoubt ?? 0
    earlier = results?.done.counts ?? earlier
  }

  /// The exit status.
  mutating func go() throws -> ExitCode {
    if options.dryRun { return try check() }
    var wanted = options.sessionOptions(credentials)
    wanted.waitMaxMS = Self.slice
    if options.verbose > 0 || recorder != nil { wanted.log = lines(options.verbose) }
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
      if lastSent > 0 { try results?.end(lastSent) }
      try recorder?.finish()
      if let alike = recorder?.alike, alike > 0 {
        show(
          "--record: \(alike) notifications went to tokens with the same first 8 digits as others "
            + "in flight: the recording may mix up their retries")
      }
    } catch let fault as FileFault {
      progress.clear()
      session.close(within: 0)
      throw Exit.report(fault.description, Exit.usage)
    }
    report()
    if failure != nil { return Exit.unreachable }
    return whole.isAllAccepted && Interruption.times == 0 ? .success : Exit.someRejected
  }

  /// The session's log on standard error, between two updates of the progress.
  private func lines(_ verbosity: Int) -> SessionLines {
    let (progress, recorder) = (progress, recorder)
    let shown = [0, APNS_LOG_INFO.rawValue, APNS_LOG_TRACE.rawValue][min(verbosity, 2)]
    return SessionLines(
      upTo: recorder == nil ? apns_log_level_t(rawValue: shown) : APNS_LOG_TRACE
    ) { line in
      recorder?.take(line)
      if line.level.rawValue > shown { return }
      progress.clear()
      let name =
        switch line.level {
        case APNS_LOG_ERROR: "error"
        case APNS_LOG_WARNING: "warning"
        case APNS_LOG_NOTICE: "notice"
        case APNS_LOG_INFO: "info"
        case APNS_LOG_DEBUG: "debug"
        default: "trace"
        }
      StandardStream.error.write("\(name): \(Printable.line(line.text))\n")
    }
  }

  /// Not accepted in earlier runs, and not resent. The exit status covers the whole list.
  private var failedBefore: Int {
    guard let done = results?.done else { return 0 }
    return done.failed + (options.atMostOnce ? done.doubtful.count : 0)
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
        try write()
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
      let results = results
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
      let isAgain = results?.isInDoubt(next.number) ?? false
      switch device {
      case .refused(let number, let to, let reason):
        if results?.done.contains(number) == true {
          passedOver += 1
        } else {
          take(.refused(number, to, reason))
        }
      case .ready(let number, let to, let payload):
        if isAgain, isAtMostOnce {
          let sent = SentNotification(
            number: number, token: to.token, channel: to.channel, isAgain: true)
          take(
            SendOutcome(sent: sent, kind: .unknown, reason: "an interrupted run may have sent it"))
        } else {
          if !isChecked { try checkFirst(payload) }
          guard try connect(session) else { return }
          try results?.begin(number)
          try pace(session, number)
          let sent = SentNotification(
            number: number, token: to.token, channel: to.channel, isAgain: isAgain)
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
    recorder?.send(sent.token)
    var lostSince: Double?
    var hasReportedLoss = false
    while true {
      do throws(LibraryError) {
        try session.send(sent, payload)
        return true
      } catch {
        if error.status == APNS_ERR_ARGUMENT {
          let to = Addressee(token: sent.token, channel: sent.channel)
          recorder?.takeBack(sent.token)
          take(.refused(sent.number, to, error.message))
          return true
        }
        if error.status != APNS_ERR_FULL {
          guard error.isConnection else {
            recorder?.takeBack(sent.token)
            failure = error
            return false
          }
          let isSlice = error.status == APNS_ERR_TIMEOUT
          if isSlice, Interruption.times > 0 {
            recorder?.takeBack(sent.token)
            return false
          }
          // A response shows that the service is reachable.
          let since = max(lostSince ?? Clock.now, lastOutcome)
          lostSince = since
          let lost = Clock.now - since
          let isReportable =
            !isSlice
            || error.cause != APNS_CAUSE_ANSWER_TIMEOUT && lost >= options.service.connectTimeout
          if isReportable, !hasReportedLoss {
            show("\(explained(error)); retrying")
            hasReportedLoss = true
          }
          if lost >= options.patience || Interruption.times > 0 {
            recorder?.takeBack(sent.token)
            failure = error
            return false
          }
          if !isSlice { Clock.pause(0.1) }
        }
        try takeOutcomes(session, within: 0)
      }
    }
  }

  /// Waits until the next notification is due.
  private mutating func pace(_ session: PushSession, _ number: Int) throws {
    if !source.replayed.isEmpty {
      let began = replayBegan ?? Clock.now
      replayBegan = began
      nextDue = began + Double(source.replayed[number - 1].at) / 1000 / (options.speed ?? 1)
    } else if options.rate != nil {
      // A delay is not compensated by a burst.
      nextDue = max(nextDue, Clock.now - 0.05)
    } else {
      return
    }
    while Clock.now < nextDue, Interruption.times == 0 {
      _ = try? session.flush()
      try takeOutcomes(session, within: Int32(min(100, max(1, (nextDue - Clock.now) * 1000))))
    }
    if let rate = options.rate { nextDue += 1 / rate }
  }

  /// Sending is more important than its metrics: a full disk does not stop it.
  private mutating func writeMetrics(_ session: PushSession) {
    do throws(FileFault) {
      try metrics?.write(session)
    } catch {
      if !hasReportedMetrics { show("Warning: --metrics: \(error)") }
      hasReportedMetrics = true
    }
  }

  /// Takes the available outcomes and records them before anything else is sent.
  private mutating func takeOutcomes(_ session: PushSession, within milliseconds: Int32) throws {
    if metrics?.isDue ?? false { writeMetrics(session) }
    var wait = milliseconds
    do throws(LibraryError) {
      while let outcome = try session.next(within: wait) {
        take(outcome)
        wait = 0
      }
    } catch {
      // The next notification gets the same error, and waits until it is resolved.
      if milliseconds > 0 { Clock.pause(Double(milliseconds) / 1000) }
    }
    if Clock.now - max(lastOutcome, lastProbe) > Self.timeUntilProbe {
      lastProbe = Clock.now
      if session.unresolved > 0 { _ = try? session.drain(within: 1000) }
    }
    try write()
    reportInterruption(session)
    let ended = tally.ended + passedOver
    progress.show(
      whole, ended: tally.ended, waiting: session.unresolved,
      share: source.share.map { $0 * Double(ended) / Double(max(begun, 1)) },
      skipped: skippedShare, problem: session.problem)
  }

  /// The outcomes of the whole list.
  private var whole: OutcomeCounts { earlier.with(tally) }

  private mutating func take(_ outcome: SendOutcome) {
    tally.add(outcome)
    recorder?.take(outcome)
    if let before = results?.done.open(outcome.sent.number) { earlier.forget(before) }
    // An expired notification had no response.
    if outcome.kind != .expired { lastOutcome = Clock.now }
    if let results {
      results.write(outcome.json)
    } else if options.json {
      output += outcome.json + "\n"
    } else if options.listFile == nil && options.replay == nil || outcome.kind != .accepted {
      output += outcome.text + "\n"
    }
  }

  private mutating func write() throws(FileFault) {
    try results?.flush()
    try recorder?.flush()
    guard !output.isEmpty else { return }
    progress.clear()
    StandardStream.output.write(output)
    output = ""
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
    progress.clear()
  }

  private mutating func reportInterruption(_ session: PushSession) {
    guard Interruption.times > 0, !hasReportedInterruption, session.unresolved > 0 else { return }
    hasReportedInterruption = true
    show(
      "Interrupted: waiting for the outcomes of \(Printable.grouped(session.unresolved)) "
        + "notifications in flight; a second Ctrl-C ends immediately")
  }

  /// The library's message, and what an alert in the handshake means.
  private func explained(_ error: LibraryError) -> String {
    let words = AlertCause.words(error, options.provider.shown)
    return error.message + (words.map { ": \($0)" } ?? "")
  }

  private func show(_ text: String) {
    progress.clear()
    StandardStream.error.write(Printable.line(text) + "\n")
  }

  // MARK: Checking

  private mutating func checkFirst(_ payload: [UInt8]) throws {
    isChecked = true
    for finding in LibraryFinding.all(in: payload, limit: options.limit) {
      let text = "payload:\(finding.line):\(finding.column): \(finding.message)"
      if finding.isError { throw Exit.refusal(text) }
      show("Warning: \(text)")
    }
  }

  /// --dry-run does everything but connect.
  private mutating func check() throws -> ExitCode {
    // The session itself reports incompatible options.
    session = try Exit.refusing {
      try PushSession(
        options.sessionOptions(credentials), credentials: credentials, delivery: options.delivery)
    }
    var ready = 0
    do {
      while Interruption.times == 0, let next = try source.next(where: { _ in true }) {
        switch next.device {
        case .ready(let number, let to, let payload):
          if !isChecked { try checkFirst(payload) }
          let errors = LibraryFinding.all(in: payload, limit: options.limit).filter { $0.isError }
          if let first = errors.first {
            take(
              .refused(number, to, "payload:\(first.line):\(first.column): \(first.message)"))
          } else {
            ready += 1
          }
        case .refused(let number, let to, let reason): take(.refused(number, to, reason))
        case nil: break
        }
        try write()
      }
    } catch let fault as FileFault {
      throw Exit.report(fault.description, Exit.usage)
    }
    if options.json {
      var totals = JSONMembers()
      totals.add("dry_run", json: "true")
      totals.add("ready", number: ready)
      totals.add("refused", number: tally[.refused])
      StandardStream.output.write(totals.object + "\n")
    } else {
      let subject = (try? credentials.describe())?.subject
      StandardStream.error.write(
        "Dry run: \(Printable.grouped(ready)) could be sent, \(Printable.grouped(tally[.refused])) refused"
          + (subject.map { ", as \(Printable.line($0))" } ?? "") + "; nothing was sent\n")
    }
    return tally[.refused] == 0 && Interruption.times == 0 ? .success : Exit.someRejected
  }

  private func report() {
    var report = RunReport(tally: tally, whole: whole, elapsed: progress.elapsed)
    report.isApples =
      PushTarget(
        host: options.service.address?.host, sandbox: options.service.sandbox, offline: false
      ).isApple
    report.passedOver = passedOver
    report.failedBefore = failedBefore
    report.inDoubt = inDoubt
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

extension SendOutcome {
  fileprivate static func refused(_ number: Int, _ to: Addressee, _ reason: String) -> SendOutcome {
    SendOutcome(
      sent: SentNotification(number: number, token: to.token, channel: to.channel, isAgain: false),
      kind: .refused, reason: reason)
  }
}
