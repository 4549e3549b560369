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
    samples[name]!.append("\(name){\(MetricsLabels.text(labels))} \(value)\n")
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
    isWhole: Bool, listeners: [(name: String, figures: ListenerFigures.Shown)] = []
  ) -> String {
    var all = MetricsText()
    all.add(
      "apns_build_info", "gauge", "The version of libapns, with the value 1.",
      [("version", String(cString: apns_version()))], "1")
    var known = depths ?? [:]
    if depths != nil {
      let isFirst = figures.min { $0.app < $1.app }?.figures.isFirst ?? true
      if !isWhole, !isFirst { known = [:] }
      for one in figures {
        let isCounted = isWhole || one.figures.isFirst
        known[one.app] = isCounted ? depths?[one.app] ?? QueueDepth() : nil
      }
    }
    for (app, depth) in known.sorted(by: { $0.key < $1.key }) {
      for (state, count) in [
        ("ready", depth.ready), ("deferred", depth.deferred), ("claimed", depth.claimed),
      ] {
        all.add(
          "apns_relay_entries", "gauge", "Entries in the queue.", [("app", app), ("state", state)],
          "\(count)")
      }
      all.add(
        "apns_relay_dead_letters", "gauge", "Dead letters: entries that were delivered too often.",
        [("app", app)], "\(depth.dead)")
      all.add(
        "apns_relay_oldest_entry_age_seconds", "gauge",
        "Age of the oldest ready entry.",
        [("app", app)], "\(depth.ageS)")
    }
    for (app, figures) in figures {
      for end in PushOutcome.Kind.allCases {
        all.add(
          "apns_relay_outcomes_total", "counter",
          "Notifications with an outcome that this relay recorded.",
          [("app", app), ("outcome", end.rawValue)], "\(figures.outcomes[end] ?? 0)")
      }
      for (reason, count) in figures.reasons.sorted(by: { $0.key < $1.key }) {
        all.add(
          "apns_relay_rejected_total", "counter", "Rejected notifications by reason.",
          [("app", app), ("reason", reason)], "\(count)")
      }
      for (name, help, count) in [
        ("claimed_entries", "Entries claimed.", figures.claimed),
        (
          "deferred", "Entries deferred because APNs requested a retry.",
          figures.deferred
        ),
        (
          "redelivered", "Entries redelivered because a delivery got no response.",
          figures.redelivered
        ),
        (
          "reclaimed_entries", "Entries reclaimed from workers that ended or fell silent.",
          figures.reclaimed
        ),
        ("record_transactions", "Transactions in which outcomes were recorded.", figures.records),
      ] {
        all.add("apns_relay_\(name)_total", "counter", help, [("app", app)], "\(count)")
      }
      all.add(
        "apns_relay_claimed_notifications", "gauge",
        "Notifications claimed and without a recorded outcome.",
        [("app", app)], "\(figures.inHand)")
      all.add(
        "apns_relay_ready", "gauge", "1 if the worker can send and record outcomes.",
        [("app", app)],
        figures.problem == nil ? "1" : "0")
      if let quota = figures.connectionQuota {
        all.add(
          "apns_relay_connection_quota", "gauge",
          "This relay's part of total_connections.", [("app", app)],
          "\(quota)")
      }
      if figures.remembers {
        all.add(
          "apns_relay_guard_alarm", "gauge",
          "1 while bad tokens are ignored because there are too many.",
          [("app", app)], figures.guardAlarm == nil ? "0" : "1")
        all.add(
          "apns_relay_guard_withheld_total", "counter", "Bad tokens that were ignored.",
          [("app", app)], "\(figures.withheld)")
      }
      all.add(
        "apns_relay_stopped", "gauge", "1 while nothing is pushed until an operator acts.",
        [("app", app)], figures.isStopped ? "1" : "0")
      if let end = figures.certificateEnd {
        all.add(
          "apns_relay_certificate_expiry_timestamp_seconds", "gauge",
          "Expiry of the certificate in UNIX seconds.", [("app", app)], "\(end)")
      }
    }
    for (name, figures) in listeners {
      let listener = ("listener", name)
      all.add(
        "apns_relay_listener_connections", "gauge", "Open connections.", [listener],
        "\(figures.connections)")
      all.add(
        "apns_relay_listener_waiting", "gauge", "Requests without a response yet.", [listener],
        "\(figures.waiting)")
      all.add(
        "apns_relay_listener_rejected_connections_total", "counter",
        "Connections refused because there were too many.", [listener],
        "\(figures.refusedConnections)")
      for (name, help, count) in [
        ("queued", "Notifications that a binary listener queued.", figures.queued),
        ("discarded", "Notifications discarded after a rejected one.", figures.discarded),
        ("refused", "Clients refused because they were not identified.", figures.refused),
        ("silent", "Silent pushes sent as background pushes of priority 5.", figures.silent),
      ] {
        all.add("apns_relay_listener_\(name)_total", "counter", help, [listener], "\(count)")
      }
      all.add(
        "apns_relay_listener_handshakes", "gauge", "Connections without a known client yet.",
        [listener],
        "\(figures.handshakes)")
      for limit in ListenerFigures.Limit.allCases {
        all.add(
          "apns_relay_listener_limited_total", "counter",
          "Connections closed because a limit was reached.",
          [listener, ("limit", limit.rawValue)], "\(figures.limited[limit] ?? 0)")
      }
      for (status, count) in figures.responses.sorted(by: { $0.key < $1.key }) {
        all.add(
          "apns_relay_listener_responses_total", "counter",
          "Responses and error packets by status.",
          [listener, ("status", "\(status)")], "\(count)")
      }
    }
    for (_, figures) in figures { all.merge(figures.session) }
    return all.text
  }
}
