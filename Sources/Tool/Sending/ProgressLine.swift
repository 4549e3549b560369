import Client

/// Shows a run's progress on standard error: on a terminal as one line that is redrawn, elsewhere as
/// plain lines from time to time.
final class ProgressLine {
  private let columns: Int?
  private let interval: Double
  private let began = Clock.now
  private var last = Clock.now
  private var isDrawn = false

  /// `every` is the number of seconds between plain lines; 0 prints none.
  init(every: Double) {
    columns = every > 0 ? Terminal.columns(of: .error) : nil
    interval = columns == nil ? every : 0.1
  }

  var elapsed: Double { Clock.now - began }

  /// `ended` is the number of outcomes in this run, `share` the part of the list that has one, if
  /// known, and `problem` the reason for waiting.
  func show(
    _ tally: OutcomeCounts, ended: Int, waiting: Int, share: Double?, skipped: Double,
    problem: String?
  ) {
    let now = Clock.now
    guard interval > 0, now - last >= interval else { return }
    last = now
    let rate = Double(ended) / max(elapsed, 0.001)
    var left = ""
    if let share, share > skipped {
      let seconds = elapsed * (1 - share) / (share - skipped)
      left = seconds < 359_999 ? ", \(Self.time(seconds)) left" : ""
    }
    let counts =
      Self.counts(tally) + (waiting > 0 ? ", \(Printable.grouped(waiting)) waiting" : "")
    let speed = "\(Printable.grouped(Int(rate)))/s\(left)"
    guard let columns else {
      let percent = share.map { "\(Int($0 * 100))%, " } ?? ""
      let reason = problem.map { "; \(Printable.line($0))" } ?? ""
      StandardStream.error.write("\(percent)\(counts), \(speed)\(reason)\n")
      return
    }
    let columnsNow = Terminal.columns(of: .error) ?? columns
    var line = "\(counts), \(speed)"
    if let problem {
      // Omits the speed, because the reason alone is wider than most terminals.
      line = (share.map { "\(Int($0 * 100))% " } ?? "") + "\(counts); \(Printable.line(problem))"
    } else if let share {
      let room = columnsNow - line.count - 9
      let bar = room >= 8 ? Self.bar(share, width: min(room, 24)) + " " : ""
      let percent = "\(Int(share * 100))%"
      line = bar + String(repeating: " ", count: 4 - min(4, percent.count)) + percent + " " + line
    }
    StandardStream.error.write("\r" + Printable.prefix(line, columns: columnsNow - 1) + "\u{1B}[K")
    isDrawn = true
  }

  /// Removes the drawn line so that something else can be printed.
  func clear() {
    if isDrawn { StandardStream.error.write("\r\u{1B}[K") }
    isDrawn = false
  }

  static func counts(_ tally: OutcomeCounts) -> String {
    var parts = ["\(Printable.grouped(tally[.accepted])) accepted"]
    for kind in [SendOutcome.Kind.rejected, .unknown, .expired, .refused] where tally[kind] > 0 {
      parts.append("\(Printable.grouped(tally[kind])) \(kind.rawValue)")
    }
    return parts.joined(separator: ", ")
  }

  private static func bar(_ share: Double, width: Int) -> String {
    let full = Int(share * Double(width))
    let (ink, paper) = Terminal.hasUnicode ? ("█", "░") : ("#", ".")
    return String(repeating: ink, count: full) + String(repeating: paper, count: width - full)
  }

  private static func time(_ seconds: Double) -> String {
    let whole = Int(seconds.rounded(.up))
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let minutes = whole / 60 % 60
    return (whole >= 3600 ? "\(whole / 3600):\(two(minutes))" : "\(minutes)")
      + ":\(two(whole % 60))"
  }
}
