import BinaryServer
import Glibc

/// The reason why a directory's certificates are unusable.
package struct CertificateError: Error, CustomStringConvertible {
  package var path: String
  package var message: String

  package var description: String { "\(path): \(message)" }

  /// The error of the last system call.
  static func system(_ path: String) -> CertificateError {
    CertificateError(path: path, message: String(cString: strerror(errno)))
  }
}

/// The directory with the certificates of the gateway and its providers.
package struct CertificateDirectory: Sendable {
  package let path: String

  package init(_ path: String) { self.path = path }

  /// The absolute path; unchanged if the directory does not exist.
  package var absolute: CertificateDirectory {
    guard let resolved = realpath(path, nil) else { return self }
    defer { free(resolved) }
    return CertificateDirectory(String(cString: resolved))
  }

  package var ca: String { "\(path)/ca.pem" }
  package var server: String { "\(path)/server.pem" }
  package var serverKey: String { "\(path)/server.key" }
  /// Certificate and key in one file.
  package var provider: String { "\(path)/provider.pem" }
  package var providerCertificate: String { "\(path)/provider-certificate.pem" }
  package var providerKey: String { "\(path)/provider-key.pem" }

  /// The key that signs provider tokens, with the identifiers below.
  package var tokenKeyFile: String { "\(path)/provider-token.p8" }
  package static let tokenKeyIdentifier = "SIMULATOR1"
  package static let tokenTeam = "EXAMPLE123"

  private var files: [String] {
    [ca, server, serverKey, provider, providerCertificate, providerKey]
  }

  /// Makes missing certificates, and checks existing ones. If several simulators start together on
  /// an empty directory, one makes them and all use them.
  package func prepare() throws(CertificateError) {
    try makeDirectory()
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(path) }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw .system(path) }
    }
    let missing = files.filter { access($0, F_OK) != 0 }
    if missing.count == files.count {
      try write(IssuedCertificates.issue())
    } else if let first = missing.first {
      throw CertificateError(
        path: first,
        message: "missing, but other files of its set exist; remove those, or restore it")
    } else {
      try check()
    }
  }

  /// Makes the signing key for provider tokens if it is missing. `prepare` has made the directory.
  func prepareTokenKey() throws(CertificateError) {
    // Linked when complete: another simulator may start on this directory at the same time.
    let draft = "\(tokenKeyFile).\(getpid())"
    if access(tokenKeyFile, F_OK) == 0 { return }
    try write(IssuedCertificates.tokenKey(), to: draft)
    defer { unlink(draft) }
    if link(draft, tokenKeyFile) != 0, errno != EEXIST {
      throw .system(tokenKeyFile)
    }
  }

  var tokenKey: ProviderKey {
    get throws(CertificateError) {
      do throws(ListError) {
        return try ProviderKey(
          identifier: Self.tokenKeyIdentifier, team: Self.tokenTeam, path: tokenKeyFile)
      } catch {
        throw CertificateError(path: error.path, message: error.message)
      }
    }
  }

  private func makeDirectory() throws(CertificateError) {
    var made = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: false) {
      made += part
      defer { made += "/" }
      if made.isEmpty || access(made, F_OK) == 0 { continue }
      if mkdir(made, 0o755) != 0, errno != EEXIST {
        throw .system(made)
      }
    }
  }

  private func write(_ issued: IssuedCertificates) throws(CertificateError) {
    try write(issued.server, to: server, mode: Self.forAll)
    try write(issued.serverKey, to: serverKey)
    try write(issued.provider + issued.providerKey, to: provider)
    try write(issued.provider, to: providerCertificate, mode: Self.forAll)
    try write(issued.providerKey, to: providerKey)
    try write(issued.ca, to: ca, mode: Self.forAll)
  }

  /// A certificate is public, and clients that run as another user need `ca`.
  private static let forAll: mode_t = 0o644

  private func write(
    _ text: String, to file: String, mode: mode_t = 0o600
  ) throws(CertificateError) {
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw .system(file) }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw .system(file) }
  }

  // MARK: Checks of existing files

  private func check() throws(CertificateError) {
    let authority = try certificate(at: ca)
    try check(certificate(at: server), at: server, key: serverKey, issuer: authority)
    try check(certificate(at: provider), at: provider, key: provider, issuer: authority)
    try check(
      certificate(at: providerCertificate), at: providerCertificate, key: providerKey,
      issuer: authority)
  }

  private func certificate(at file: String) throws(CertificateError) -> Certificate {
    guard let certificate = Certificate(pem: try section(of: file, "CERTIFICATE")) else {
      throw CertificateError(path: file, message: "not a certificate")
    }
    let now = Int64(time(nil))
    guard certificate.validFrom <= now else {
      throw CertificateError(path: file, message: "not valid yet")
    }
    guard now < certificate.validUntil else {
      throw CertificateError(
        path: file,
        message: "expired; remove the directory's files to have new ones made")
    }
    return certificate
  }

  private func check(
    _ certificate: Certificate, at file: String, key keyFile: String, issuer: Certificate
  ) throws(CertificateError) {
    guard certificate.isSigned(by: issuer) else {
      throw CertificateError(path: file, message: "not issued by the CA in \(ca)")
    }
    guard let key = KeyPair.privateKey(in: try section(of: keyFile, "PRIVATE KEY")) else {
      throw CertificateError(path: keyFile, message: "not a private key")
    }
    guard key.belongs(to: certificate) else {
      throw CertificateError(path: keyFile, message: "not the key of the certificate in \(file)")
    }
  }

  /// The file's first PEM section of that kind, with its two marker lines.
  private func section(of file: String, _ kind: String) throws(CertificateError) -> String {
    let bytes: [UInt8]
    do throws(ListError) {
      bytes = try WholeFile.read(file)
    } catch {
      throw CertificateError(path: error.path, message: error.message)
    }
    let begin = "-----BEGIN \(kind)-----"
    let end = "-----END \(kind)-----"
    var section: [Substring]?
    for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      if line == begin { section = [] }
      section?.append(line)
      if line == end, let section { return section.joined(separator: "\n") }
    }
    throw CertificateError(
      path: file, message: "has no complete PEM section \(kind.lowercased())")
  }
}
