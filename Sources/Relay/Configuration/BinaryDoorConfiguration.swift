import BinaryServer

/// The interface that Apple switched off in 2021, for programs that nobody can change any more.
package struct BinaryDoorConfiguration: Equatable, Sendable {
  package struct TLS: Equatable, Sendable {
    /// PEM, with its chain; nil: one is made.
    package var certificate: String?
    /// Default: in the certificate's file.
    package var key: String?
    package var min = TLSBound.tls1_2
    /// Key exchange by RSA, without forward secrecy.
    package var takesRSA = false
    /// Diffie-Hellman without elliptic curves.
    package var takesDHE = false
    /// Signatures by SHA-1, and keys of 1,024 bits.
    package var takesSHA1 = false
  }

  package var name = ""
  package var host = "127.0.0.1"
  /// 0 takes a free one.
  package var port = 2195
  package var portFile: String?
  /// nil: there is no feedback.
  package var feedbackPort: Int? = 2196
  package var feedbackPortFile: String?
  /// Whoever reaches the port pushes as this app.
  package var app: String?
  /// The app of each client's certificate, by its SHA-256 fingerprint in small hex digits.
  package var fingerprints: [String: String] = [:]
  /// Who signs certificates of clients whose topic (UID) is an app's.
  package var clientCA: String?
  package var tls = TLS()
  /// Where a certificate is made if none is given: names of files begin with this path.
  package var madeCertificate = ""
  package var payloadMax = 2048
  /// Answers a payload that is no JSON by status 7.
  package var checksJSON = false
  /// Sizes of tokens beside those that the service accepted; nil: any.
  package var tokenBytes: TokenSizes? = TokenSizes(32)
  /// Answers tokens by status 5 and 8; false: all of them are pushed.
  package var answersTokens = true
  /// Of providers, all apps together.
  package var connections = 10_000
  /// Of one app; 0: all that is not kept for others.
  package var appConnections = 0
  /// Of one app from one address; 0: three quarters of the app's.
  package var addressConnections = 0
  /// To the feedback port, beside those of providers.
  package var feedbackConnections = 1000
  /// TLS handshakes under way, beside all these.
  package var handshakes = 1000
}
