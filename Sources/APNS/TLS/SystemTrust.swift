import COpenSSL
import CSystem

/// The system's CA certificates, used if the options name none.
///
/// OpenSSL looks in the directory of the system that compiled it, or in SSL_CERT_FILE and
/// SSL_CERT_DIR. A static program, or a program with its own OpenSSL, may run on systems that keep
/// them elsewhere. So if OpenSSL's own places have no certificates, and these variables are not
/// set, the files of other systems are tried until one has a certificate.
package enum SystemTrust {
  package enum Outcome { case found, nothing, noMemory }

  /// Where systems keep them in one file, one after another; nil after the last.
  package static func place(_ index: Int) -> StaticString? {
    switch index {
    case 0: "/etc/ssl/certs/ca-certificates.crt"  // Debian, Alpine, Arch, Gentoo, NixOS
    case 1: "/etc/pki/tls/certs/ca-bundle.crt"  // Fedora to 42, Red Hat
    case 2: "/etc/ssl/ca-bundle.pem"  // SUSE
    case 3: "/etc/pki/tls/cacert.pem"  // OpenELEC
    case 4: "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"  // Fedora, Red Hat
    case 5: "/etc/ssl/cert.pem"  // Alpine
    default: nil
    }
  }

  /// Has the context trust them. `nothing`: it verifies, and no peer will be trusted until
  /// OpenSSL's directory gets certificates.
  package static func add(to context: OpaquePointer) -> Outcome {
    var alone = SharedTrust(isAllowed: false)
    return add(to: context, &alone)
  }

  @inline(never)
  static func add(to context: OpaquePointer, _ shared: inout SharedTrust) -> Outcome {
    if shared.have(file, directories, in: context) { return .found }
    TLSErrors.clear()
    // They ignore unreadable files, even if only memory was lacking. OpenSSL 3's third place is the
    // same directory again, searched by code that fails without memory.
    guard SSL_CTX_set_default_verify_file(context) == 1,
      SSL_CTX_set_default_verify_dir(context) == 1, !TLSErrors.takeExhausted()
    else { return .noMemory }
    if copenssl_trusts_anyone(context) != 0 { return .found }
    shared.forget()
    switch lookIntoDirectories() {
    case .nothing: break
    case let outcome: return outcome
    }
    if !isTold {
      var index = 0
      while let place = place(index) {
        index &+= 1
        switch read(place, into: context, &shared) {
        case .nothing: break
        case let outcome: return outcome
        }
      }
    }
    shared.forget()
    TLSErrors.clear()
    return copenssl_note_no_anchors(context) == 1 ? .nothing : .noMemory
  }

  private static func read(
    _ place: StaticString, into context: OpaquePointer, _ shared: inout SharedTrust
  ) -> Outcome {
    let path = UnsafeRawPointer(place.utf8Start).assumingMemoryBound(to: CChar.self)
    guard access(path, R_OK) == 0 else { return .nothing }
    if shared.have(path, directories, in: context) { return .found }
    return read(path, nil, into: context)
  }

  /// Reads a file, or registers a directory. `nothing`: OpenSSL's errors have the reason.
  @inline(never)
  static func read(
    _ file: UnsafePointer<CChar>?, _ directory: UnsafePointer<CChar>?, into context: OpaquePointer
  ) -> Outcome {
    // Tried twice: OpenSSL does not always report a lack of memory.
    for _ in 0..<2 {
      TLSErrors.clear()
      let isRead = SSL_CTX_load_verify_locations(context, file, directory) == 1
      // It may succeed without memory, with a certificate that will never be an issuer.
      if TLSErrors.isOutOfMemory { return .noMemory }
      if isRead { return .found }
    }
    return csystem_is_exhausted() != 0 ? .noMemory : .nothing
  }

  // MARK: OpenSSL's own places

  /// SSL_CERT_FILE or SSL_CERT_DIR is set: use only that path.
  static var isTold: Bool {
    getenv(X509_get_default_cert_file_env()) != nil
      || getenv(X509_get_default_cert_dir_env()) != nil
  }

  static var file: UnsafePointer<CChar>? {
    getenv(X509_get_default_cert_file_env()).map { UnsafePointer($0) }
      ?? X509_get_default_cert_file()
  }

  static var directories: UnsafePointer<CChar>? {
    getenv(X509_get_default_cert_dir_env()).map { UnsafePointer($0) }
      ?? X509_get_default_cert_dir()
  }

  /// OpenSSL itself reads them only when it verifies.
  private static func lookIntoDirectories() -> Outcome {
    guard let list = directories else { return .nothing }
    guard let copy = strdup(list) else { return .noMemory }
    defer { free(copy) }
    var (path, at) = (copy, copy)
    while true {
      let byte = at.pointee
      if byte == 0 || UInt8(bitPattern: byte) == UInt8(ascii: ":") {
        at.pointee = 0
        switch look(into: path) {
        case .nothing: break
        case let outcome: return outcome
        }
        if byte == 0 { return .nothing }
        path = at + 1
      }
      at += 1
    }
  }

  private static func look(into path: UnsafePointer<CChar>) -> Outcome {
    csystem_set_errno(0)
    guard let directory = opendir(path) else {
      return csystem_errno() == ENOMEM ? .noMemory : .nothing
    }
    defer { closedir(directory) }
    while let name = csystem_next_name(directory) {
      if isOfCertificate(name) { return .found }
    }
    return .nothing
  }

  /// As OpenSSL's rehash names a certificate: eight digits of a hash, a dot and a number. Under any
  /// other name OpenSSL does not find it.
  private static func isOfCertificate(_ name: UnsafePointer<CChar>) -> Bool {
    for index in 0..<8 {
      switch UInt8(bitPattern: name[index]) {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): break
      default: return false
      }
    }
    let number = UInt8(ascii: "0")...UInt8(ascii: "9")
    return UInt8(bitPattern: name[8]) == UInt8(ascii: ".")
      && number.contains(UInt8(bitPattern: name[9]))
  }
}

extension Message {
  /// The places in which there were no CA certificates.
  @inline(never)
  mutating func appendPlacesWithoutAnchors() {
    append("; there is no authority in ")
    append(SystemTrust.file)
    if SystemTrust.isTold {
      append(" or ")
      append(SystemTrust.directories)
    } else {
      append(", ")
      append(SystemTrust.directories)
      append(", /etc/ssl or /etc/pki")
    }
    append(": install ca-certificates or set ca_file")
  }
}
