import CAPNS

/// Supplies provider tokens to the library, through its token_callback.
protocol ProviderTokenSource: AnyObject, Sendable {
  func answer(_ request: inout apns_token_request_t) -> CInt
  /// Throws if the key or the program cannot supply a token.
  func tryToken() throws
}

extension apns_token_request_t {
  /// Returns the token to the library, which calls again after this time.
  mutating func give(_ text: String, renewAfterMS: Int64) -> CInt {
    let bytes = Array(text.utf8)
    guard bytes.count <= capacity, let token else { return -1 }
    UnsafeMutableRawPointer(token).copyMemory(from: bytes, byteCount: bytes.count)
    renew_after_s = UInt32(max(1, min(renewAfterMS / 1000, 86_400)))
    return CInt(bytes.count)
  }

  /// Returns an error to the library.
  mutating func fail(_ words: String) -> CInt {
    withUnsafeMutableBytes(of: &message) { room in
      for (index, byte) in words.utf8.prefix(room.count - 1).enumerated() { room[index] = byte }
    }
    return -1
  }
}
