import CAPNS

@_cdecl("apns_push_type_text") @implementation
public func apns_push_type_text(_ type: apns_push_type_t) -> UnsafePointer<CChar>? {
  let words: StaticString = "default\0unlisted push type\0"
  let known = UInt8(exactly: type.rawValue).flatMap { PushType(rawValue: $0) }
  return
    (known?.text.baseAddress
    ?? UnsafeRawPointer(words.utf8Start + (type == APNS_PUSH_TYPE_DEFAULT ? 0 : 8)))
    .assumingMemoryBound(to: CChar.self)
}
