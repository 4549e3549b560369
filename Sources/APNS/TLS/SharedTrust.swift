import COpenSSL

/// The CA certificates that a context shares with other credentials of the process: those of the file that
/// was read last. Its functions are not inlined: each object file that calls the shim's has its own copy
/// of the shim's variable.
struct SharedTrust {
  /// False with revocation lists: they would then apply to all that share the certificates.
  let isAllowed: Bool
  private var id = copenssl_anchors_id_t()
  private var isKnown = false

  init(isAllowed: Bool) { self.isAllowed = isAllowed }

  /// Whether the context has them now, so that they need not be read.
  @inline(never)
  mutating func have(
    _ file: UnsafePointer<CChar>?, _ directory: UnsafePointer<CChar>?, in context: OpaquePointer
  ) -> Bool {
    isKnown = isAllowed && copenssl_identify_anchors(file, directory, &id) == 1
    guard isKnown, copenssl_share_anchors(context, &id) == 1 else { return false }
    isKnown = false
    return true
  }

  /// The context gets them from elsewhere, so there is nothing to keep.
  mutating func forget() { isKnown = false }

  /// Keeps for others what the context has read and checked.
  @inline(never)
  mutating func keep(_ context: OpaquePointer) {
    if isKnown { copenssl_keep_anchors(context, &id) }
  }

  /// They are kept while there are users.
  @inline(never)
  static func addUser() { copenssl_use_anchors() }
  @inline(never)
  static func removeUser() { copenssl_leave_anchors() }
}
