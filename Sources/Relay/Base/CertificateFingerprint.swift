/// The SHA-256 fingerprint of a certificate in hex.
enum CertificateFingerprint {
  /// Reads a fingerprint with or without OpenSSL's colons; nil if it is invalid.
  static func read(_ text: some StringProtocol) -> String? {
    let digits = text.lowercased().filter { $0 != ":" }
    let isHex = digits.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
    }
    return digits.utf8.count == 64 && isHex ? digits : nil
  }
}
