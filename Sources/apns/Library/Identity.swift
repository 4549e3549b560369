import CAPNS
import Glibc

/// Who pushes and whom it trusts: the library's credentials.
final class Identity {
  struct Sources {
    var certificate: String?
    var key: String?
    var passphrase: String?
    var ca: String?
    /// A file or a directory.
    var revocations: String?
    var pins: [String] = []
    var tokenKey: String?
    var keyIdentifier: String?
    var team: String?
    var acceptsAnyPeer = false
    /// A certificate out of its time is taken.
    var acceptsExpired = false
    /// No more than TLS 1.2, where a gateway's word on the certificate is part of the handshake.
    var staysBelowTLS13 = false
    /// Asked where something turns out to be encrypted and there is no passphrase.
    var ask: ((_ file: String) -> String?)?
  }

  struct Description {
    var subject: String?
    var topics: [String] = []
    var notBefore: Int64 = 0
    var notAfter: Int64 = 0
    var isForSandbox = false
    var isForProduction = false
    var chainLength = 0
  }

  let handle: OpaquePointer

  init(_ sources: Sources) throws(LibraryError) {
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
    let asking = Asking(sources.ask)
    if sources.passphrase == nil, sources.ask != nil {
      options.passphrase_context = Unmanaged.passUnretained(asking).toOpaque()
      options.passphrase_callback = { file, buffer, capacity, context in
        guard let buffer, let context,
          let ask = Unmanaged<Asking>.fromOpaque(context).takeUnretainedValue().ask,
          let said = ask(file.map { String(cString: $0) } ?? "the key")
        else { return -1 }
        let bytes = Array(said.utf8)
        guard bytes.count <= capacity else { return -1 }
        UnsafeMutableRawPointer(buffer).copyMemory(from: bytes, byteCount: bytes.count)
        return CInt(bytes.count)
      }
    }
    var handle: OpaquePointer?
    try withExtendedLifetime((lent, asking)) { () throws(LibraryError) in
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

  func describe() throws(LibraryError) -> Description {
    var said = apns_credentials_description_t()
    said.size = MemoryLayout<apns_credentials_description_t>.size
    try calling { apns_credentials_describe(handle, &said, $0) }
    return Description(
      subject: said.subject.map { String(cString: $0) },
      topics: (0..<Int(said.topic_count)).compactMap {
        said.topics[$0].map { String(cString: $0) }
      },
      notBefore: said.not_before, notAfter: said.not_after,
      isForSandbox: said.environments & APNS_ENVIRONMENT_SANDBOX.rawValue != 0,
      isForProduction: said.environments & APNS_ENVIRONMENT_PRODUCTION.rawValue != 0,
      chainLength: Int(said.chain_length))
  }
}

/// A closure where C wants a pointer.
private final class Asking {
  let ask: ((String) -> String?)?
  init(_ ask: ((String) -> String?)?) { self.ask = ask }
}
