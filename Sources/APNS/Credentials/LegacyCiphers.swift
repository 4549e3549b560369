import COpenSSL

/// The ciphers of ten years ago, RC2 and single DES, which OpenSSL 3 keeps in a
/// provider of its own: open while a file is read, in a context of its own, so that
/// the program's stays as it is.
struct LegacyCiphers: ~Copyable {
  var context: copenssl_legacy_t

  /// Nil where the provider is not installed; with OpenSSL 1.1.1 there is nothing to open.
  @inline(never)
  init?() {
    var opened = copenssl_legacy_t()
    let isOpen = copenssl_legacy_open(&opened) == 1
    TLSErrors.clear()
    // Not before here: an initializer that fails would end what it had made.
    if !isOpen { return nil }
    context = opened
  }

  deinit { copenssl_legacy_close(context) }
}
