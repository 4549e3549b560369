import CAPNS

@_cdecl("apns_why_unquoted") @implementation
public func apns_why_unquoted(
  _ text: UnsafeRawPointer?, _ length: Int
) -> UnsafePointer<CChar>? {
  guard let text, length > 0 else { return nil }
  guard let reason = Unquoted(UnsafeRawBufferPointer(start: text, count: length)) else {
    return nil
  }
  return UnsafeRawPointer(reason.words.utf8Start).assumingMemoryBound(to: CChar.self)
}
