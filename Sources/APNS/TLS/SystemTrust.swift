import COpenSSL
import CSystem

/// The authorities that the system trusts, for whoever names none.
///
/// OpenSSL looks where the system that compiled it keeps them, or where SSL_CERT_FILE and
/// SSL_CERT_DIR say. A static program and one that brings its OpenSSL meet systems that keep them
/// elsewhere. So where OpenSSL's own places hold nothing, and these variables are not set, the
/// files of other systems are read, the first one that has a certificate.
package enum SystemTrust {
  package enum Outcome { case found, nothing, noMemory }

  /// Where systems keep them in one file, one after another; nil behind the last.
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

  /// Has the context trust them. `nothing`: it verifies, and will find nobody trusted, until
  /// OpenSSL's directory gets certificates.
  @inline(never)
  package static func add(to context: OpaquePointer) -> Outcome {
    TLSErrors.clear()
    // They ignore what cannot be read, even where only memory was lacking. The third of OpenSSL 3's
    // places is the same directory again, looked into by code that fails without memory.
    guard SSL_CTX_set_default_verify_file(context) == 1,
      SSL_CTX_set_default_verify_dir(context) == 1, !TLSErrors.takeExhausted()
    else { return .noMemory }
    if copenssl_trusts_anyone(context) != 0 { return .found }
    switch lookIntoDirectories() {
    case .nothing: break
    case let outcome: return outcome
    }
    if !isTold {
      var index = 0
      while let place = place(index) {
        index &+= 1
        switch read(place, into: context) {
        case .nothing: break
        case let outcome: return outcome
        }
      }
    }
    TLSErrors.clear()
    return copenssl_note_no_anchors(context) == 1 ? .nothing : .noMemory
  }

  private static func read(_ place: StaticString, into context: OpaquePointer) -> Outcome {
    let path = UnsafeRawPointer(place.utf8Start).assumingMemoryBound(to: CChar.self)
    guard access(path, R_OK) == 0 else { return .nothing }
    return read(path, nil, into: context)
  }

  /// Reads a file, or has a directory looked into. `nothing`: OpenSSL's errors say why.
  @inline(never)
  static func read(
    _ file: UnsafePointer<CChar>?, _ directory: UnsafePointer<CChar>?, into context: OpaquePointer
  ) -> Outcome {
    // Tried twice: OpenSSL does not always say when memory was what it lacked.
    for _ in 0..<2 {
      TLSErrors.clear()
      let isRead = SSL_CTX_load_verify_locations(context, file, directory) == 1
      // It may succeed without memory, and have a certificate that will be nobody's issuer.
      if TLSErrors.isOutOfMemory { return .noMemory }
      if isRead { return .found }
    }
    return csystem_is_exhausted() != 0 ? .noMemory : .nothing
  }

  // MARK: OpenSSL's own places

  /// Somebody said where they are, and means nowhere else.
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

  /// OpenSSL itself looks into them only when it verifies.
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
  /// Where somebody's certificates should have been.
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
