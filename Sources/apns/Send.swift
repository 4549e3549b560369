import APNSLibrary
import ArgumentParser
import CAPNS
import Glibc

enum WireProtocol: String, CaseIterable, ExpressibleByArgument {
  case http2
  case binary
}

enum PushKind: String, CaseIterable, ExpressibleByArgument {
  case alert, background, location, voip, complication, fileprovider, mdm, liveactivity
  case pushtotalk, widgets, controls

  /// The library's number for it.
  var pushType: apns_push_type_t {
    apns_push_type_t(rawValue: UInt32(Self.allCases.firstIndex(of: self)! + 1))
  }
}

struct Send: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send notifications, to a few devices or to a list of any length.",
    discussion: """
      One notification, by today's interface:

          apns send --p8 AuthKey_ABCDE12345.p8 --team-id TEAM123456 \\
            --topic com.example.app --alert 'Hello' \\
            5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412

      A list, of which each device gets its own text; what became of each goes to a file, and \
      a run that was interrupted, even by SIGKILL, goes on with --resume:

          apns send --certificate provider.pem --alert 'Hello {{name}}' \\
            --tokens devices.csv --results results.jsonl

          apns send --certificate provider.pem --alert 'Hello {{name}}' \\
            --tokens devices.csv --results results.jsonl --resume

      To the simulator, which says where its certificates are:

          apns send --protocol binary --host 127.0.0.1 --port 2195 \\
            --ca simulator-certificates/ca.pem \\
            --certificate simulator-certificates/provider.pem \\
            --alert Hello 5f79cfda

      WHO PUSHES is said by a certificate (--certificate or --p12), for HTTP/2 and the binary \
      interface, or by the key of provider tokens (--p8 with --team-id), for HTTP/2 only. Apple's \
      services take nothing from others.

      A LIST is CSV with a first line of names, one of them token; CSV without it, where the \
      first field is the token; or JSON lines, each an object with a token. {{name}} in the \
      payload is the device's field of that name: within a string as text, elsewhere as a JSON \
      value, so that {"aps":{"badge":{{badge}}}} has a number and --payload with {{payload}} alone \
      a whole payload for each. Without names the second column is {{2}}.

      RESULTS are JSON lines, one object to a line. The first line names the list ("list", \
      "bytes") and the run ("run"). One with "sending_to" says up to which device the list may \
      have been sent. Each of the others is the outcome of a device, in the order in which they \
      came; of two for the same device the later one counts:

      \(ResultText.members)

      With --resume each device that has an outcome is passed over, but for unknown ones. Those \
      that were on their way when the run was killed, at most one window (4 MiB of notifications, \
      see --window), may have arrived: they are sent again and marked "again", or, with \
      --at-most-once, not sent and marked unknown. The exit status is that of the whole list: 1 \
      where an earlier run had some rejected, though nothing is left to be sent.

      Ctrl-C stops reading the list, waits for the service's word on what is on its way, and \
      reports; a second one does not wait.

      \(Exit.text)
      """)

  @OptionGroup(title: "Provider") var provider: ProviderOptions
  @OptionGroup(title: "Service") var service: PeerOptions
  @OptionGroup(title: "Payload") var payload: PayloadOptions

  @Argument(help: ArgumentHelp("Device tokens, in hex.", valueName: "token"))
  var tokens: [String] = []

  @Option(
    name: .customLong("tokens"),
    help: ArgumentHelp("A list of devices; - is standard input.", valueName: "file"),
    completion: .file())
  var list: String?

  @Option(help: ArgumentHelp("The list's name for the token.", valueName: "name"))
  var tokenColumn = "token"

  @Option(name: .customLong("protocol"), help: "Today's interface, or the one before it.")
  var wire = WireProtocol.http2

  @Option(
    help: ArgumentHelp(
      "The app's identifier, for HTTP/2; otherwise the certificate's.", valueName: "id"))
  var topic: String?

  @Option(help: "What kind of push it is; otherwise seen from the payload. HTTP/2 only.")
  var pushType: PushKind?

  @Option(
    help: ArgumentHelp("10 at once, 5 with regard to power, 1 still more so.", valueName: "n"))
  var priority: UInt8?

  @Option(
    help: ArgumentHelp(
      "How long the service tries to deliver; 0 is once.", valueName: "seconds"))
  var expiresIn: UInt32?

  @Option(
    help: ArgumentHelp(
      "It takes the place of one that came before with the same. HTTP/2 only.", valueName: "id"))
  var collapseID: String?

  @Option(
    help: ArgumentHelp("A UUID for the one notification. HTTP/2 only.", valueName: "uuid"))
  var apnsID: String?

  @Option(
    help: ArgumentHelp(
      "What became of each device goes here, as JSON lines, as it comes.", valueName: "file"),
    completion: .file())
  var results: String?

  @Flag(help: "Go on with the list where --results ends.")
  var resume = false

  @Flag(help: "Send nothing twice that may have arrived: name it as unknown instead.")
  var atMostOnce = false

  @Option(help: ArgumentHelp("Never more than so many in a second.", valueName: "n"))
  var rate: Double?

  @Option(help: ArgumentHelp("Connections side by side, at most 64.", valueName: "n"))
  var connections: UInt32 = 1

  @Option(
    help: ArgumentHelp(
      "Memory for what is on its way, and so what may arrive twice.", valueName: "bytes"))
  var window: UInt32 = 4 << 20

  @Option(
    help: ArgumentHelp("The largest payload; otherwise the protocol's.", valueName: "bytes"))
  var payloadMax: UInt32?

  @Option(
    help: ArgumentHelp(
      "How long to go on trying where the service is lost.", valueName: "seconds"))
  var patience: Double = 60

  @Option(
    help: ArgumentHelp(
      "How long to wait at the end for the service's word.", valueName: "seconds"))
  var drain: Double = 60

  @Option(
    help: ArgumentHelp(
      "Seconds between lines of progress where there is no terminal; 0: no progress at all.",
      valueName: "seconds"))
  var progress: Double = 10

  @Flag(help: "Check credentials, payload and the whole list, and connect to nothing.")
  var dryRun = false

  @Flag(help: "Print JSON: each device that --results does not take, and the totals.")
  var json = false

  func validate() throws {
    if tokens.isEmpty, list == nil { throw ValidationError("no device: name tokens or --tokens") }
    if !tokens.isEmpty, list != nil {
      throw ValidationError("tokens and --tokens: say one of them")
    }
    if resume, results == nil {
      throw ValidationError("--resume needs the --results to go on with")
    }
    if resume, list == nil { throw ValidationError("--resume is for a list, --tokens") }
    if list == "-", payload.payload == "-" || (payload.payload == nil && !payload.hasFlags) {
      throw ValidationError("standard input cannot be both the list and the payload")
    }
    if let rate, !(rate > 0) { throw ValidationError("--rate \(rate) would send nothing") }
    if connections < 1 || connections > 64 { throw ValidationError("--connections is 1 to 64") }
    if window < 16384 { throw ValidationError("--window is at least 16384") }
    if let priority, ![1, 5, 10].contains(priority) {
      throw ValidationError("--priority is 10, 5 or 1")
    }
    if apnsID != nil, list != nil || tokens.count > 1 {
      throw ValidationError("--apns-id is for one notification")
    }
    if wire == .binary {
      if provider.p8 != nil { throw ValidationError(ProviderOptions.p8IsForHTTP2) }
      for (name, isThere) in [
        ("--topic", topic != nil), ("--push-type", pushType != nil),
        ("--collapse-id", collapseID != nil), ("--apns-id", apnsID != nil),
      ] where isThere {
        throw ValidationError("\(name) is for HTTP/2, and --protocol binary has no place for it")
      }
    }
    for (name, seconds) in [("--patience", patience), ("--drain", drain), ("--progress", progress)]
    where !(seconds >= 0 && seconds <= 1e6) {
      throw ValidationError("\(name) is 0 to 1000000 seconds")
    }
  }

  func run() throws {
    Interruption.watch()
    try provider.demand(of: service)
    let credentials = try provider.credentials()
    let template = try template()
    var run = try SendRun(self, credentials, template)
    throw try run.go()
  }

  var limit: Int {
    if let payloadMax { return Int(payloadMax) }
    if wire == .binary { return Int(APNS_PAYLOAD_MAX_FRAMED) }
    return Int(pushType == .voip ? APNS_PAYLOAD_MAX_VOIP : APNS_PAYLOAD_MAX_HTTP2)
  }

  var sessionOptions: PushSession.Options {
    var options = PushSession.Options()
    options.isHTTP2 = wire == .http2
    options.peer = service.peer(
      sandbox: wire == .http2 ? APNS_HOST_HTTP2_SANDBOX : APNS_HOST_SANDBOX)
    options.topic = topic
    options.windowBytes = window
    options.payloadMax = payloadMax ?? 0
    options.connections = connections
    options.reportsAmbiguous = atMostOnce
    return options
  }

  var delivery: Delivery {
    var delivery = Delivery()
    delivery.collapseIdentifier = collapseID
    delivery.apnsIdentifier = apnsID
    delivery.priority = priority ?? 0
    delivery.pushType = pushType?.pushType ?? APNS_PUSH_TYPE_DEFAULT
    if let expiresIn {
      delivery.expiry =
        expiresIn == 0 ? Int64(APNS_EXPIRY_ONCE) : Int64(time(nil)) + Int64(expiresIn)
    }
    return delivery
  }

  private func template() throws -> Template {
    var source: [UInt8]
    if payload.payload == nil, payload.hasFlags {
      source = Array(payload.json.utf8)
    } else {
      if payload.payload == nil, isatty(0) == 1 {
        throw Exit.refusal("nothing to send: --alert or another flag, or --payload FILE")
      }
      do throws(FileFault) {
        source = try WholeText.read(payload.payload ?? "-")
      } catch {
        throw Exit.refusal("--payload: \(error)")
      }
      while let last = source.last, [0x09, 0x0A, 0x0D, 0x20].contains(last) { source.removeLast() }
      guard !source.isEmpty else {
        let place = payload.payload.map { $0 == "-" ? "standard input" : $0 } ?? "standard input"
        throw Exit.refusal(
          "there is no payload: \(place) is empty, and no flag says one "
            + "(--alert TEXT, --badge N, --payload FILE)")
      }
    }
    return Template(source, hasFields: list != nil)
  }
}
