import Crypto
import SwiftASN1
import X509
import _CryptoExtras

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An authority of the gateway's own, made for the occasion, and what it signed.
/// Its key is thrown away: nobody can sign in its name later. All as PEM.
struct IssuedCertificates {
  var ca: String
  var server: String
  var serverKey: String
  var provider: String
  var providerKey: String

  static let topic = "com.example.app"

  /// Apple's names are among them, for clients that have these wired in and are
  /// led here by /etc/hosts.
  private static let names: [GeneralName] = [
    .dnsName("localhost"),
    .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
    .ipAddress(ASN1OctetString(contentBytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])),
    .dnsName("gateway.push.apple.com"), .dnsName("gateway.sandbox.push.apple.com"),
    .dnsName("feedback.push.apple.com"), .dnsName("feedback.sandbox.push.apple.com"),
    .dnsName("api.push.apple.com"), .dnsName("api.sandbox.push.apple.com"),
  ]

  /// No more is good for a server certificate with some clients.
  private static let lifetime: TimeInterval = 825 * 86400

  static func issue() throws(CertificateError) -> IssuedCertificates {
    do {
      return try make()
    } catch {
      throw CertificateError(path: "certificates", message: "cannot be made: \(error)")
    }
  }

  /// RSA throughout: some clients know nothing else.
  private static func make() throws -> IssuedCertificates {
    let authority = try Party {
      CommonName("APNs simulator authority \(UInt32.random(in: 0 ... .max))")
    }
    let server = try Party { CommonName("localhost") }
    let provider = try Party(
      DistinguishedName([
        RelativeDistinguishedName(
          // UID, where Apple puts the topic.
          .init(type: [0, 9, 2342, 19_200_300, 100, 1, 1], utf8String: topic)),
        RelativeDistinguishedName(
          .init(type: .RDNAttributeType.commonName, utf8String: "Apple Push Services: \(topic)")),
      ]))

    let ca = try certificate(
      of: authority, by: authority,
      Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(keyCertSign: true, cRLSign: true))
        SubjectKeyIdentifier(hash: authority.publicKey)
      })
    let serverCertificate = try certificate(
      of: server, by: authority,
      Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true, keyEncipherment: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames(names)
        SubjectKeyIdentifier(hash: server.publicKey)
        authority.asIssuer
      })
    let providerCertificate = try certificate(
      of: provider, by: authority,
      Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([.clientAuth])
        SubjectKeyIdentifier(hash: provider.publicKey)
        authority.asIssuer
      })
    return IssuedCertificates(
      ca: try ca.serializeAsPEM().pemString + "\n",
      server: try serverCertificate.serializeAsPEM().pemString + "\n",
      serverKey: server.key.pkcs8PEMRepresentation + "\n",
      provider: try providerCertificate.serializeAsPEM().pemString + "\n",
      providerKey: provider.key.pkcs8PEMRepresentation + "\n")
  }

  /// A key as Apple gives it for provider tokens.
  static func tokenKey() -> String { P256.Signing.PrivateKey().pemRepresentation + "\n" }

  private static func certificate(
    of subject: Party, by issuer: Party, _ extensions: Certificate.Extensions
  ) throws -> Certificate {
    let now = Date()
    return try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: subject.publicKey,
      // A clock that runs a little behind shall not find them too new.
      notValidBefore: now - 86400, notValidAfter: now + lifetime, issuer: issuer.name,
      subject: subject.name, signatureAlgorithm: .sha256WithRSAEncryption, extensions: extensions,
      issuerPrivateKey: Certificate.PrivateKey(issuer.key))
  }

  private struct Party {
    let name: DistinguishedName
    let key: _RSA.Signing.PrivateKey

    init(_ name: DistinguishedName) throws {
      self.name = name
      key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    init(@DistinguishedNameBuilder _ name: () throws -> Result<DistinguishedName, any Error>) throws
    {
      try self.init(DistinguishedName(builder: name))
    }

    var publicKey: Certificate.PublicKey { Certificate.PublicKey(key.publicKey) }

    var asIssuer: AuthorityKeyIdentifier {
      AuthorityKeyIdentifier(
        keyIdentifier: SubjectKeyIdentifier(hash: publicKey).keyIdentifier)
    }
  }
}
