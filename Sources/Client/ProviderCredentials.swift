import CAPNS
import Glibc

/// The library's credentials: the provider's identity and its CA certificates.
package final class ProviderCredentials {
  package struct Sources {
    package var certificate: String?
    package var key: String?
    package var passphrase: String?
    package var ca: String?
    /// A file or a directory.
    package var revocations: String?
    package var pins: [String] = []
    package var tokenKey: String?
    package var keyIdentifier: String?
    package var team: String?
    package var acceptsAnyPeer = false
    /// Accepts a client certificate that has expired or is not valid yet.
    package var acceptsExpired = false
    /// TLS 1.2 at most: its handshake shows whether the gateway accepts the certificate.
    package var staysBelowTLS13 = false
    /// Called if a file is encrypted and no passphrase was given.
    package var ask: ((_ file: String) -> String?)?

    package init() {}
  }

  package struct Description {
    package var subject: String?
    package var topics: [String] = []
    package var notBefore: Int64 = 0
    package var notAfter: Int64 = 0
    package var isForSandbox = false
    package var isForProduction = false
    package var chainLength = 0
  }

  package let handle: OpaquePointer

  package init(_ sources: Sources) throws(LibraryError) {
    let lent = LentStrings()
    var options = apns_credentials_options_t()
    options.size = MemoryLayout<apns_credentials_options_t>.size
    options.certificate_file = lent.lend(sources.certificate)
    options.key_file = lent.lend(sources.key)
    options.passphrase = lent.lend(sources.passphrase)
    options.ca_file = lent.lend(sources.ca)
    if let revocations = sources.revocations {
      var status = stat()
      let isDirectory = stat(revocations, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
      if isDirectory {
        options.crl_directory = lent.lend(revocations)
      } else {
        options.crl_file = lent.lend(revocations)
      }
    }
    let pins = sources.pins.map { lent.lend($0) }
    options.token_key_file = lent.lend(sources.tokenKey)
    options.key_id = lent.lend(sources.keyIdentifier)
    options.team_id = lent.lend(sources.team)
    options.dangerously_accept_any_peer = sources.acceptsAnyPeer ? 1 : 0
    options.accept_expired = sources.acceptsExpired ? 1 : 0
    if sources.staysBelowTLS13 { options.tls_max = Int32(APNS_TLS_1_2.rawValue) }
    let callback = PassphraseCallback(sources.ask)
    if sources.passphrase == nil, sources.ask != nil {
      options.passphrase_context = Unmanaged.passUnretained(callback).toOpaque()
      options.passphrase_callback = { file, buffer, capacity, context in
        guard let buffer, let context,
          let ask = Unmanaged<PassphraseCallback>.fromOpaque(context).takeUnretainedValue().ask,
          let passphrase = ask(file.map { String(cString: $0) } ?? "the key")
        else { return -1 }
        let bytes = Array(passphrase.utf8)
        guard bytes.count <= capacity else { return -1 }
        UnsafeMutableRawPointer(buffer).copyMemory(from: bytes, byteCount: bytes.count)
        return CInt(bytes.count)
      }
    }
    var handle: OpaquePointer?
    try withExtendedLifetime((lent, callback)) { () throws(LibraryError) in
      try calling { error in
        pins.withUnsafeBufferPointer {
          options.pinned_keys = $0.isEmpty ? nil : $0.baseAddress
          options.pinned_key_count = $0.count
          return apns_credentials_new(&options, &handle, error)
        }
      }
    }
    self.handle = handle!
  }

  deinit { apns_credentials_free(handle) }

  package func describe() throws(LibraryError) -> Description {
    var description = apns_credentials_description_t()
    description.size = MemoryLayout<apns_credentials_description_t>.size
    try calling { apns_credentials_describe(handle, &description, $0) }
    return Description(
      subject: description.subject.map { String(cString: $0) },
      topics: (0..<Int(description.topic_count)).compactMap {
        description.topics[$0].map { String(cString: $0) }
      },
      notBefore: description.not_before, notAfter: description.not_after,
      isForSandbox: description.environments & 1 << APNS_ENVIRONMENT_SANDBOX.rawValue != 0,
      isForProduction: description.environments & 1 << APNS_ENVIRONMENT_PRODUCTION.rawValue != 0,
      chainLength: Int(description.chain_length))
  }
}

/// Holds a closure behind the pointer that C passes back.
private final class PassphraseCallback {
  package let ask: ((String) -> String?)?
  package init(_ ask: ((String) -> String?)?) { self.ask = ask }
}
