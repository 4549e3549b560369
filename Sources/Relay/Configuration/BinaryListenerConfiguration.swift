import BinaryServer

/// A listener for the binary interface, which Apple switched off in 2021, for legacy providers.
package struct BinaryListenerConfiguration: Equatable, Sendable {
  package struct TLS: Equatable, Sendable {
    /// The server certificate in PEM, with its chain; nil to create one.
    package var certificate: String?
    /// nil if the key is in the certificate's file.
    package var key: String?
    package var min = TLSBound.tls1_2
    /// RSA key exchange, without forward secrecy.
    package var takesRSA = false
    /// Diffie-Hellman without elliptic curves.
    package var takesDHE = false
    /// SHA-1 signatures and 1,024-bit keys.
    package var takesSHA1 = false
  }

  package var name = ""
  package var host = "127.0.0.1"
  /// 0 takes a free port.
  package var port = 2195
  package var portFile: String?
  /// nil without feedback.
  package var feedbackPort: Int? = 2196
  package var feedbackPortFile: String?
  /// Every client of the port pushes as this app.
  package var app: String?
  /// The app of each client certificate, by its SHA-256 fingerprint in lower-case hex.
  package var fingerprints: [String: String] = [:]
  /// The CA for client certificates with an app's topic (UID) in their subject.
  package var clientCA: String?
  package var tls = TLS()
  /// The path that the names of a created certificate's files begin with.
  package var madeCertificate = ""
  package var payloadMax = 2048
  /// Rejects a payload that is not JSON with status 7.
  package var checksJSON = false
  /// Valid token sizes, in addition to those that APNs accepted; nil for any.
  package var tokenBytes: TokenSizes? = TokenSizes(32)
  /// Rejects tokens of invalid sizes with status 5, and bad tokens with status 8; if false, all are
  /// pushed.
  package var sendsTokenErrors = true
  /// The maximum for providers of all apps.
  package var connections = 10_000
  /// The maximum for one app; 0 for everything not kept for others.
  package var appConnections = 0
  /// The maximum for one app from one address; 0 for three quarters of the app's.
  package var addressConnections = 0
  /// The maximum for the feedback port, in addition to `connections`.
  package var feedbackConnections = 1000
  /// The maximum of pending TLS handshakes, in addition to both.
  package var handshakes = 1000
}
