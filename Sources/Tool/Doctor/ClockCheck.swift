import Glibc

/// Checks whether this machine's clock can be right.
struct ClockCheck {
  /// The validity of the provider's and the service's certificates, which are independent.
  var times: [CertificateTime]
  var server: String?
  var timeoutMS: Int

  /// More than certificates and tokens tolerate, less than a person would notice.
  private static let tolerance: Int64 = 60

  func run(_ report: inout Report) {
    let now = Int64(time(nil))
    if let server {
      guard let answer = TimeServer.request(server, within: timeoutMS) else {
        report.warning(
          "time-server-silent", server, "it does not send the time",
          "name another SNTP server with --time-server")
        return
      }
      let ahead = now - answer
      guard abs(ahead) > Self.tolerance else {
        report.fine("clock", "\(Clock.written(now)), as \(server) reports")
        return
      }
      report.add(
        wrong(
          "the clock shows \(Clock.written(now)), and \(server) sends \(Clock.written(answer)): the clock is \(Self.span(abs(ahead))) \(ahead > 0 ? "ahead" : "behind")"
        ))
      return
    }
    if let built = Self.built, now < built - 86_400 {
      report.add(
        wrong(
          "the clock shows \(Clock.written(now)), and this program was built at \(Clock.written(built))"
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
    report.fine("clock", "\(Clock.written(now)), consistent with the certificates and this program")
  }

  private func wrong(_ message: String) -> Finding {
    .problem(
      "clock-wrong", "clock", message,
      "set it, and keep it set with NTP (timedatectl set-ntp true): certificates and provider tokens depend on it"
    )
  }

  private static func span(_ seconds: Int64) -> String {
    if seconds < 7200 { return "\(seconds / 60) minutes" }
    return seconds < 172_800 ? "\(seconds / 3600) hours" : "\(seconds / 86_400) days"
  }

  /// The modification time of this program's file.
  private static var built: Int64? {
    var status = stat()
    return stat("/proc/self/exe", &status) == 0 ? Int64(status.st_mtim.tv_sec) : nil
  }
}
