/// The SHA-256 fingerprint of a certificate in hex.
enum CertificateFingerprint {
  static func text(of digest: [UInt8]) -> String {
    digest.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0\(digits)" : digits
    }.joined()
  }

  /// Reads a fingerprint with or without OpenSSL's colons; nil if it is invalid.
  static func read(_ text: some StringProtocol) -> String? {
    let digits = text.lowercased().filter { $0 != ":" }
    let isHex = digits.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
    }
    return digits.utf8.count == 64 && isHex ? digits : nil
  }
}
