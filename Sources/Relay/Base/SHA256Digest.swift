import COpenSSL

enum SHA256Digest {
  static func of(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    copenssl_sha256(bytes, bytes.count, &digest)
    return digest
  }
}
