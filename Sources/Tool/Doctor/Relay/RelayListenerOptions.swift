import ArgumentParser
import CommandOptions
import Glibc

/// The addresses of a relay's listeners.
struct RelayListenerOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Check a relay's binary listener instead, like a legacy program: --certificate and --key are \
      the program's, --ca has its CA certificates, --server-name is the name it uses. Default \
      port: 2195.
      """, valueName: "host[:port]"))
  var relay: String?

  @Option(help: .of("port", "The port of its feedback service. Default: 2196."))
  var feedbackPort: UInt16?

  @Option(
    name: .customLong("http-listener"),
    help: .of("host:port", "Also check its HTTP listener: its address, or the path of its socket."))
  var httpListener: String?

  func validate() throws {
    guard let relay else {
      if feedbackPort != nil || httpListener != nil {
        throw ValidationError("--feedback-port and --http-listener need --relay")
      }
      return
    }
    _ = try ServiceAddress.read(relay, of: "--relay")
    if feedbackPort == 0 { throw ValidationError("--feedback-port must be 1 to 65535") }
    if let httpListener, !HTTPListenerCheck.isPlace(httpListener) {
      throw ValidationError(
        "--http-listener must be HOST:PORT, or the absolute path of a socket")
    }
  }

  /// Checks nothing without --relay.
  func check(
    _ provider: ProviderOptions, _ service: PeerOptions, _ report: inout Report
  ) throws {
    guard let address = relay.flatMap({ try? ServiceAddress($0) }) else { return }
    var check = RelayCheck(
      host: address.host, port: address.port ?? 2195, feedbackPort: feedbackPort ?? 2196,
      httpListener: httpListener, caFile: provider.caFile,
      serverName: service.serverName ?? "gateway.push.apple.com",
      seconds: service.connectTimeout)
    if let caFile = provider.caFile, access(caFile, R_OK) != 0 {
      throw Exit.refusal("--ca: \(caFile): \(String(cString: strerror(errno)))")
    }
    if let certificate = provider.certificate ?? provider.p12 {
      let passphrase = try provider.sources().passphrase
      do throws(Finding) {
        check.credentials = try LegacyCredentials(
          certificate: certificate, key: provider.key, passphrase: passphrase)
      } catch {
        return report.add(error)
      }
    }
    check.run(&report)
  }
}
