import COpenSSL

/// The ciphers of ten years ago, RC2 and single DES, which OpenSSL 3 keeps in a separate provider.
/// It is open while a file is read, in a separate context, so that the application's context does
/// not change.
struct LegacyCiphers: ~Copyable {
  var context: copenssl_legacy_t

  /// Nil if the provider is not installed; with OpenSSL 1.1.1 there is nothing to open.
  @inline(never)
  init?() {
    var opened = copenssl_legacy_t()
    let isOpen = copenssl_legacy_open(&opened) == 1
    TLSErrors.clear()
    // Set only now: if the initializer failed with this set, Swift would run deinit.
    if !isOpen { return nil }
    context = opened
  }

  deinit { copenssl_legacy_close(context) }
}
