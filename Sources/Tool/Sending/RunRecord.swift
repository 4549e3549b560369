import CAPNS
import Client

/// What a run writes while it works: the outcomes, with those of earlier runs on its list, its
/// recording, and its progress and findings on standard error.
struct RunRecord {
  private let options: SendOptions
  let results: ResultFile?
  let recorder: Recorder?
  let progress: ProgressLine
  private(set) var tally = OutcomeCounts()
  /// The outcomes of earlier runs for devices without an outcome in this one.
  private var earlier: OutcomeCounts
  /// The notifications that earlier runs may have sent.
  let inDoubt: Int
  /// The time of the last response.
  private(set) var lastOutcome = Clock.now
  private var output = ""
  private var isChecked: Bool

  init(_ options: SendOptions, _ template: Template, listSize: Int?) throws {
    self.options = options
    isChecked = options.replay != nil
    progress = ProgressLine(
      every: options.json && Terminal.columns(of: .error) == nil ? 0 : options.progress)
    recorder = try options.recorder()
    results = try Self.results(options, template, listSize)
    inDoubt = results?.inDoubt ?? 0
    earlier = results?.done.counts ?? OutcomeCounts()
  }

  private static func results(
    _ options: SendOptions, _ template: Template, _ size: Int?
  ) throws -> ResultFile? {
    guard let path = options.results, !options.dryRun else { return nil }
    var run = Fingerprint()
    run.add(template.identity)
    for part in [options.wire.rawValue, options.topic, options.service.host, options.tokenColumn] {
      run.add((part ?? "").utf8)
    }
    if options.isBroadcast { run.add("channels".utf8) }
    let name = options.listFile?.split(separator: "/").last.map(String.init) ?? ""
    let beginning = ResultFile.Beginning(list: name, size: size, fingerprint: run.value)
    return try Exit.refusing("--results") {
      try ResultFile(path, beginning, resumes: options.resume)
    }
  }

  /// The outcomes of the whole list.
  var whole: OutcomeCounts { earlier.with(tally) }

  /// Not accepted in earlier runs, and not resent. The exit status covers the whole list.
  var failedBefore: Int {
    guard let done = results?.done else { return 0 }
    return done.failed + (options.atMostOnce ? done.doubtful.count : 0)
  }

  mutating func take(_ outcome: SendOutcome) {
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

  mutating func refuse(_ number: Int, _ to: Addressee, _ reason: String) {
    let sent = SentNotification(
      number: number, token: to.token, channel: to.channel, isAgain: false)
    take(SendOutcome(sent: sent, kind: .refused, reason: reason))
  }

  mutating func write() throws(FileFault) {
    try results?.flush()
    try recorder?.flush()
    guard !output.isEmpty else { return }
    progress.clear()
    StandardStream.output.write(output)
    output = ""
  }

  // MARK: Standard error

  /// Stops the run if the first payload has an error.
  mutating func checkFirst(_ payload: [UInt8]) throws {
    if isChecked { return }
    isChecked = true
    for finding in LibraryFinding.all(in: payload, limit: options.limit) {
      let text = "payload:\(finding.line):\(finding.column): \(finding.message)"
      if finding.isError { throw Exit.refusal(text) }
      show("Warning: \(text)")
    }
  }

  func show(_ text: String) {
    progress.clear()
    StandardStream.error.write(Printable.line(text) + "\n")
  }

  /// The session's log, for standard error and the recording; nil if nothing needs it.
  var log: SessionLines? {
    if options.verbose == 0, recorder == nil { return nil }
    let (progress, recorder) = (progress, recorder)
    let shown = [0, APNS_LOG_INFO.rawValue, APNS_LOG_TRACE.rawValue][min(options.verbose, 2)]
    return SessionLines(
      upTo: recorder == nil ? apns_log_level_t(rawValue: shown) : APNS_LOG_TRACE
    ) { line in
      recorder?.take(line)
      if line.level.rawValue > shown { return }
      progress.clear()
      StandardStream.error.write("\(Self.name(line.level)): \(Printable.line(line.text))\n")
    }
  }

  private static func name(_ level: apns_log_level_t) -> String {
    switch level {
    case APNS_LOG_ERROR: "error"
    case APNS_LOG_WARNING: "warning"
    case APNS_LOG_NOTICE: "notice"
    case APNS_LOG_INFO: "info"
    case APNS_LOG_DEBUG: "debug"
    default: "trace"
    }
  }
}
