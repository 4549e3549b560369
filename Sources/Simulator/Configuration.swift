import BinaryServer

extension SimulatedGateway {
  package struct Configuration: Sendable {
    package var host = "127.0.0.1"
    /// 0 takes a free port.
    package var http2Port = 8443
    /// The port of the binary interface; nil without it.
    package var gatewayPort: Int?
    package var feedbackPort: Int?
    /// The port of channel management over HTTP/2; nil without it.
    package var channelsPort: Int?
    package var channelsMax = 10_000
    /// Apps that are not enabled for broadcasts.
    package var appsWithoutBroadcasts: [String] = []
    package var subscriptions: [Subscription] = []
    /// Responses over HTTP/2 are those of the sandbox.
    package var isSandbox = true
    /// Accepted in addition to the key in the certificates' directory.
    package var providerKeys: [ProviderKey] = []
    package var certificates: CertificateDirectory
    /// For the binary ports.
    package var tlsMax = TLSBound.tls1_2
    package var tlsMin = TLSBound.tls1_2
    /// Session tickets on the binary ports, right after the handshake. Legacy clients take these
    /// bytes for an error packet, wait for the rest of it, or answer with RST.
    package var sendsTickets = false
    package var rules = GatewayRules()
    package var feedback: [FeedbackEntry] = []
    /// Records accepted notifications.
    package var record: RecordFile?
    /// Records the outcome of every notification.
    package var ledger: RecordFile?
    package var faults = FaultRules()
    package var seed: UInt64 = 0
    /// The port of the control API, which listens on loopback only; 0 takes a free port, nil turns
    /// it off.
    package var controlPort: Int?
    package var worldsMax = 1000
    /// How many accepted notifications the control API can list.
    package var controlKeeps = 100_000
    /// Keeps the newest notifications for the page; nil without a page.
    package var recentPushes: RecentPushes?

    /// Decides the outcomes of valid pushes over HTTP/2.
    package var replay: Replay?

    var records: RecordFiles { RecordFiles(accepted: record, ledger: ledger) }

    package init(certificates: CertificateDirectory) { self.certificates = certificates }
  }
}
