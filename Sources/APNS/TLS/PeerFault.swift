import CAPNS
import COpenSSL
import CSystem

/// Which certificate failed which check, noted when that makes the handshake fail.
struct PeerFault {
  /// X509_V_OK while nothing failed.
  var code: CInt = 0
  /// The place in the chain; 0 is the gateway's own certificate.
  var depth: CInt = 0
  var subject = Message()
  /// The system has no CA certificates.
  var isWithoutAnchors = false
  /// Why files of trusted certificates or of revocation lists may not have been opened.
  var systemError: CInt = 0
  /// The key that the peer showed when a pinned one was required.
  var unpinnedKey: KeyDigest?

  var cause: apns_cause_t {
    if unpinnedKey != nil { return APNS_CAUSE_PEER_NOT_PINNED }
    switch code {
    case X509_V_ERR_CERT_HAS_EXPIRED: return APNS_CAUSE_PEER_EXPIRED
    case X509_V_ERR_CERT_NOT_YET_VALID: return APNS_CAUSE_PEER_NOT_YET_VALID
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      return APNS_CAUSE_PEER_NAME
    case X509_V_ERR_CERT_REVOKED: return APNS_CAUSE_PEER_REVOKED
    case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER,
      X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_SIGNATURE_FAILURE:
      return APNS_CAUSE_PEER_REVOCATION_LIST
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
      return APNS_CAUSE_PEER_NOT_TRUSTED
    default: return APNS_CAUSE_PEER_UNFIT
    }
  }

  /// Notes the certificate and the reason from the failed check.
  @inline(never)
  mutating func note(_ store: OpaquePointer) {
    code = X509_STORE_CTX_get_error(store)
    depth = X509_STORE_CTX_get_error_depth(store)
    isWithoutAnchors = copenssl_has_no_anchors(store) != 0
    if cause == APNS_CAUSE_PEER_NOT_TRUSTED || cause == APNS_CAUSE_PEER_REVOCATION_LIST {
      // If OpenSSL lacks a descriptor to open a file, it ignores the file.
      systemError = lackOfDescriptors()
    }
    note(subjectOf: X509_STORE_CTX_get_current_cert(store))
  }

  mutating func note(subjectOf certificate: OpaquePointer?) {
    guard let certificate else { return }
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 160) { buffer in
      buffer.initialize(repeating: 0)
      _ = copenssl_subject_line(certificate, buffer.baseAddress, CInt(buffer.count))
      subject.append(buffer.baseAddress)
    }
  }
}

/// EMFILE or ENFILE if no descriptor is left; otherwise 0.
func lackOfDescriptors() -> CInt {
  let probe = csystem_epoll()
  if probe >= 0 {
    _ = close(probe)
    return 0
  }
  let code = csystem_errno()
  return code == EMFILE || code == ENFILE ? code : 0
}

/// OpenSSL's verify callback: notes the first fault and changes nothing.
func notePeerFault(_ fine: CInt, _ store: OpaquePointer?) -> CInt {
  guard fine == 0, let store, let state = copenssl_verified_state(store) else { return fine }
  let socket = state.assumingMemoryBound(to: SocketState.self)
  guard socket.pointee.peerFault.code == 0 else { return fine }
  socket.pointee.peerFault.note(store)
  return fine
}

extension Message {
  /// "… is not verified: certificate has expired (certificate 0: /CN=gateway)".
  mutating func append(_ fault: borrowing PeerFault, host: UnsafePointer<CChar>) {
    append(host)
    append(" is not verified: ")
    if let key = fault.unpinnedKey {
      append("no key in its chain is pinned; its own key is ")
      append(pin: key)
    } else {
      append(X509_verify_cert_error_string(Int(fault.code)))
      if fault.isWithoutAnchors, fault.cause == APNS_CAUSE_PEER_NOT_TRUSTED {
        appendPlacesWithoutAnchors()
      }
      switch fault.code {
      case X509_V_ERR_UNABLE_TO_GET_CRL: append("; crl_file and crl_directory have no list for it")
      case X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID,
        X509_V_ERR_CRL_SIGNATURE_FAILURE:
        append("; the list is from crl_file or crl_directory")
      default: break
      }
    }
    append(" (certificate ")
    append(Int(fault.depth))
    append(": ")
    append(fault.subject)
    append(")")
  }
}
