import ArgumentParser
import Glibc

/// Where a relay has its listeners.
struct RelayListenerOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Check a relay's binary listener instead, with the eyes of an old program: --certificate and --key \
      are the program's, --ca is what it trusts, --server-name what it calls the listener. Default \
      port: 2195.
      """, valueName: "host[:port]"))
  var relay: String?

  @Option(help: ArgumentHelp("The port of its feedback. Default: 2196.", valueName: "port"))
  var feedbackPort: UInt16?

  @Option(
    name: .customLong("http-listener"),
    help: ArgumentHelp(
      "Also check its HTTP listener: where it listens, or the path of its socket.",
      valueName: "host:port"))
  var httpListener: String?

  func validate() throws {
    guard let relay else {
      if feedbackPort != nil || httpListener != nil {
        throw ValidationError("--feedback-port and --http-listener are a relay's: give --relay")
      }
      return
    }
    do throws(ServiceAddress.Fault) {
      _ = try ServiceAddress(relay)
    } catch {
      throw ValidationError("--relay: \(error.message)")
    }
    if feedbackPort == 0 { throw ValidationError("--feedback-port must be 1 to 65535") }
    if let httpListener, !HTTPListenerCheck.isPlace(httpListener) {
      throw ValidationError(
        "--http-listener must be HOST:PORT, or the path of a socket, with / first")
    }
  }

  /// nil without --relay.
  func check(_ provider: ProviderOptions, _ service: PeerOptions) throws -> RelayCheck? {
    guard let address = relay.flatMap({ try? ServiceAddress($0) }) else { return nil }
    var check = RelayCheck(
      host: address.host, port: address.port ?? 2195, feedbackPort: feedbackPort ?? 2196,
      httpListener: httpListener, authority: provider.authority,
      serverName: service.serverName ?? "gateway.push.apple.com",
      seconds: service.connectTimeout)
    if let authority = provider.authority, access(authority, R_OK) != 0 {
      throw Exit.refusal("--ca: \(authority): \(String(cString: strerror(errno)))")
    }
    if let certificate = provider.certificate ?? provider.p12 {
      check.credentials = try LegacyCredentials(
        certificate: certificate, key: provider.key, passphrase: provider.sources().passphrase)
    }
    return check
  }
}
