import Glibc

/// Whether this machine's clock can be right.
struct ClockCheck {
  /// The times of the certificates of provider and service, which are independent of each other.
  var times: [CertificateTime]
  var server: String?
  var timeoutMS: Int

  /// More than certificates and tokens forgive, less than a person would see.
  private static let most: Int64 = 60

  func run(_ report: inout Report) {
    let now = Int64(time(nil))
    if let server {
      guard let answer = TimeServer.ask(server, within: timeoutMS) else {
        report.add(
          Finding(
            cause: "time-server-silent", severity: .warning, about: server,
            message: "it gives no time", remedy: "name another SNTP server with --time-server"))
        return
      }
      let ahead = now - answer
      guard abs(ahead) > Self.most else {
        report.fine("clock", "\(Clock.written(now)), as \(server) says")
        return
      }
      report.add(
        wrong(
          "the clock says \(Clock.written(now)), and \(server) says \(Clock.written(answer)): it is \(Self.span(abs(ahead))) \(ahead > 0 ? "ahead" : "behind")"
        ))
      return
    }
    if let built = Self.built, now < built - 86_400 {
      report.add(
        wrong(
          "the clock says \(Clock.written(now)), and this program was made at \(Clock.written(built))"
        ))
      return
    }
    let sides = times.compactMap(\.side)
    if times.count >= 2, sides.count == times.count, Set(sides).count == 1 {
      report.add(
        wrong(
          "by the clock, \(Clock.written(now)), all certificates \(sides[0] == .late ? "have expired" : "are not yet valid"), the provider's and the service's, so the clock is probably \(sides[0] == .late ? "ahead" : "behind")"
        ))
      return
    }
    report.fine("clock", "\(Clock.written(now)), which agrees with everything seen here")
  }

  private func wrong(_ message: String) -> Finding {
    Finding(
      cause: "clock-wrong", about: "clock", message: message,
      remedy:
        "set it, and keep it set with NTP (timedatectl set-ntp true): certificates and provider tokens are judged by it"
    )
  }

  private static func span(_ seconds: Int64) -> String {
    if seconds < 7200 { return "\(seconds / 60) minutes" }
    return seconds < 172_800 ? "\(seconds / 3600) hours" : "\(seconds / 86_400) days"
  }

  /// When this program's file was written.
  private static var built: Int64? {
    var status = stat()
    return stat("/proc/self/exe", &status) == 0 ? Int64(status.st_mtim.tv_sec) : nil
  }
}
