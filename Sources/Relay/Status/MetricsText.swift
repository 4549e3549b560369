import CAPNS

/// The relay's metrics in Prometheus' text format (version 0.0.4).
struct MetricsText {
  private var order: [String] = []
  private var heads: [String: String] = [:]
  private var samples: [String: [String]] = [:]

  mutating func add(
    _ name: String, _ type: String, _ help: String, _ labels: [(String, String)], _ value: String
  ) {
    begin(name, "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n")
    samples[name]!.append(
      "\(name)\(labels.isEmpty ? "" : "{\(MetricsLabels.text(labels))}") \(value)\n")
  }

  mutating func addHistogram(
    _ name: String, _ help: String, _ labels: [(String, String)], _ durations: DurationCounts
  ) {
    begin(name, "# HELP \(name) \(help)\n# TYPE \(name) histogram\n")
    var count = 0
    for place in durations.counts.indices {
      count += durations.counts[place]
      let isLast = place == DurationCounts.limitsMS.count
      let limit = isLast ? "+Inf" : "\(Double(DurationCounts.limitsMS[place]) / 1000)"
      let labels = MetricsLabels.text(labels + [("le", limit)])
      samples[name]!.append("\(name)_bucket{\(labels)} \(count)\n")
    }
    let labels = MetricsLabels.text(labels)
    samples[name]!.append("\(name)_sum{\(labels)} \(Double(durations.sumMS) / 1000)\n")
    samples[name]!.append("\(name)_count{\(labels)} \(count)\n")
  }

  /// Adds another text in the same format, so that the samples of several apps form one family.
  mutating func merge(_ text: String) {
    var family = ""
    var head = ""
    for line in text.split(separator: "\n") {
      if !line.hasPrefix("# ") {
        samples[family]?.append(line + "\n")
      } else if line.hasPrefix("# HELP ") {
        family = line.split(separator: " ", maxSplits: 3).dropFirst(2).first.map(String.init) ?? ""
        head = line + "\n"
      } else {
        begin(family, head + line + "\n")
      }
    }
  }

  private mutating func begin(_ name: String, _ head: String) {
    guard heads[name] == nil else { return }
    heads[name] = head
    samples[name] = []
    order.append(name)
  }

  var text: String { order.map { heads[$0]! + samples[$0]!.joined() }.joined() }

  /// `depths` has the apps' entries in the queue; nil if it cannot be read. Without `isWhole` they are
  /// in the metrics of one of the queue's relays only, so that a sum over the relays is right.
  static func of(
    _ figures: [(app: String, figures: WorkerFigures)], _ depths: [String: QueueDepth]?,
    isWhole: Bool, listeners: [(name: String, figures: ListenerFigures.Shown)] = [],
    webhooks: [String: WebhookFigures] = [:]
  ) -> String {
    var all = MetricsText()
    all.add(
      "apns_build_info", "gauge", "The version of libapns, with the value 1.",
      [("version", String(cString: apns_version()))], "1")
    all.add(
      "process_start_time_seconds", "gauge", "When the relay started, in UNIX seconds.", [],
      "\(Double(RelayClock.startedAt) / 1000)")
    var known = depths ?? [:]
    if depths != nil {
      let isFirst = figures.min { $0.app < $1.app }?.figures.isFirst ?? true
      if !isWhole, !isFirst { known = [:] }
      for one in figures {
        let isCounted = isWhole || one.figures.isFirst
        known[one.app] = isCounted ? depths?[one.app] ?? QueueDepth() : nil
      }
    }
    var subject = ("app", "")
    func add(_ name: String, _ type: String, _ help: String, _ value: Int, _ label: [String]) {
      all.add(
        "apns_relay_\(name)", type, help, [subject] + (label.isEmpty ? [] : [(label[0], label[1])]),
        "\(value)")
    }
    func gauge(_ name: String, _ help: String, _ value: Int, _ label: String...) {
      add(name, "gauge", help, value, label)
    }
    func counter(_ name: String, _ help: String, _ value: Int, _ label: String...) {
      add(name + "_total", "counter", help, value, label)
    }
    func histogram(
      _ name: String, _ help: String, _ value: DurationCounts, _ label: String...
    ) {
      all.addHistogram("apns_relay_\(name)", help, [subject, (label[0], label[1])], value)
    }
    for (app, depth) in known.sorted(by: { $0.key < $1.key }) {
      subject = ("app", app)
      gauge("entries", "Entries in the queue.", depth.ready, "state", "ready")
      gauge("entries", "Entries in the queue.", depth.deferred, "state", "deferred")
      gauge("entries", "Entries in the queue.", depth.paused, "state", "paused")
      gauge("entries", "Entries in the queue.", depth.paced, "state", "paced")
      gauge("entries", "Entries in the queue.", depth.claimed, "state", "claimed")
      gauge(
        "dead_letters", "Dead letters: entries that were delivered too often.", depth.dead)
      gauge("oldest_entry_age_seconds", "Age of the oldest ready entry.", depth.ageS)
      for lane in Lane.allCases {
        let waiting = depth.waiting[lane] ?? QueueDepth.Waiting()
        gauge("ready_entries", "Ready entries by lane.", waiting.count, "lane", lane.rawValue)
        gauge(
          "oldest_ready_age_seconds", "Age of the oldest ready entry by lane.", waiting.ageS,
          "lane", lane.rawValue)
      }
    }
    for (app, figures) in figures {
      subject = ("app", app)
      for end in PushOutcome.Kind.allCases {
        counter(
          "outcomes", "Notifications with an outcome that this relay recorded.",
          figures.outcomes[end] ?? 0, "outcome", end.rawValue)
      }
      for (reason, count) in figures.reasons.sorted(by: { $0.key < $1.key }) {
        counter("rejected", "Rejected notifications by reason.", count, "reason", reason)
      }
      for lane in Lane.allCases {
        histogram(
          "commit_to_response_seconds",
          "From when an entry was added, or was due, to APNs' response.", figures.durations[lane],
          "lane", lane.rawValue)
      }
      counter("claimed_entries", "Entries claimed.", figures.claimed)
      counter("deferred", "Entries deferred because APNs requested a retry.", figures.deferred)
      counter(
        "redelivered", "Entries redelivered because a delivery got no response.",
        figures.redelivered)
      counter(
        "reclaimed_entries", "Entries reclaimed from workers that ended or fell silent.",
        figures.reclaimed)
      counter(
        "record_transactions", "Transactions in which outcomes were recorded.", figures.records)
      gauge(
        "claimed_notifications", "Notifications claimed and without a recorded outcome.",
        figures.inHand)
      gauge(
        "ready", "1 if the worker can send and record outcomes.", figures.problem == nil ? 1 : 0)
      if let quota = figures.connectionQuota {
        gauge("connection_quota", "This relay's part of total_connections.", quota)
      }
      if let perSecond = figures.perSecond {
        gauge("rate_limit", "The limit per_second of all relays together.", perSecond)
        gauge(
          "rate_waiting", "Claimed notifications that wait for per_second.",
          figures.waitingForRate)
      }
      if figures.remembers {
        gauge(
          "guard_alarm", "1 while bad tokens are ignored because there are too many.",
          figures.guardAlarm == nil ? 0 : 1)
        counter("guard_withheld", "Bad tokens that were ignored.", figures.withheld)
      }
      gauge(
        "stopped", "1 while nothing is pushed until an operator acts.", figures.isStopped ? 1 : 0)
      if let end = figures.certificateEnd {
        gauge(
          "certificate_expiry_timestamp_seconds", "Expiry of the certificate in UNIX seconds.",
          Int(end))
      }
    }
    for (app, figures) in webhooks.sorted(by: { $0.key < $1.key }) {
      subject = ("app", app)
      counter(
        "webhook_delivered", "Outcomes that the webhook's receiver accepted.", figures.delivered)
      counter(
        "webhook_failed", "Requests that the webhook's receiver did not accept.", figures.failed)
      gauge(
        "webhook_lag_seconds", "Age of the oldest outcome that waits for the webhook.", figures.lagS
      )
      gauge(
        "webhook_failing", "1 while the webhook's requests fail.", figures.problem == nil ? 0 : 1)
    }
    for (name, figures) in listeners {
      subject = ("listener", name)
      gauge("listener_connections", "Open connections.", figures.connections)
      gauge("listener_waiting", "Requests without a response yet.", figures.waiting)
      counter(
        "listener_rejected_connections", "Connections refused because there were too many.",
        figures.refusedConnections)
      counter(
        "listener_queued", "Notifications that a binary listener queued.", figures.queued)
      counter(
        "listener_discarded", "Notifications discarded after a rejected one.", figures.discarded)
      counter(
        "listener_refused", "Clients refused because they were not identified.", figures.refused)
      counter(
        "listener_silent", "Silent pushes sent as background pushes of priority 5.",
        figures.silent)
      gauge("listener_handshakes", "Connections without a known client yet.", figures.handshakes)
      for limit in ListenerFigures.Limit.allCases {
        counter(
          "listener_limited", "Connections closed because a limit was reached.",
          figures.limited[limit] ?? 0, "limit", limit.rawValue)
      }
      for (status, count) in figures.responses.sorted(by: { $0.key < $1.key }) {
        counter(
          "listener_responses", "Responses and error packets by status.", count, "status",
          "\(status)")
      }
    }
    for (_, figures) in figures { all.merge(figures.session) }
    return all.text
  }
}
