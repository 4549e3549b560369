import BinaryServer

extension SimulatedGateway {
  package struct Configuration: Sendable {
    package var host = "127.0.0.1"
    /// 0 takes a free port.
    package var http2Port = 8443
    /// The binary interface; nil: not there.
    package var gatewayPort: Int?
    package var feedbackPort: Int?
    /// Where channels are managed, over HTTP/2; nil: nowhere.
    package var channelsPort: Int?
    /// How many channels an app may have.
    package var channelsMax = 10_000
    /// Apps that are not enabled for broadcasts.
    package var appsWithoutBroadcasts: [String] = []
    package var subscriptions: [Subscription] = []
    /// Answers over HTTP/2 are those of the sandbox.
    package var isSandbox = true
    /// Accepted beside the key in the certificates' directory.
    package var providerKeys: [ProviderKey] = []
    package var certificates: CertificateDirectory
    /// Over the binary ports.
    package var tlsMax = TLSBound.tls1_2
    package var tlsMin = TLSBound.tls1_2
    /// Session tickets over the binary ports, right behind the handshake. Old clients take these
    /// bytes for an error, wait for the rest of them, or answer them with RST.
    package var sendsTickets = false
    package var rules = GatewayRules()
    package var feedback: [FeedbackEntry] = []
    /// Records accepted notifications.
    package var record: RecordFile?
    /// Records what became of every notification.
    package var ledger: RecordFile?
    package var faults = FaultRules()
    /// All that is left to chance follows from it.
    package var seed: UInt64 = 0
    /// The control interface listens on loopback only. 0 takes a free port, nil: none.
    package var controlPort: Int?
    /// How many accepted notifications the control interface can list.
    package var controlKeeps = 100_000
    /// Keeps the newest notifications for the page; nil without a page.
    package var recentPushes: RecentPushes?

    package init(certificates: CertificateDirectory) { self.certificates = certificates }
  }
}
