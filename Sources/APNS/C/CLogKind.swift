import CAPNS

/// The kinds' names, in the order of their numbers.
private var names: WordList {
  WordList(
    """
    unknown\0connected\0connect_failed\0disconnected\0abandoned\0goaway\0reset\0timeout\0resent\0retry\0backoff\0\
    full\0token\0cache\0closed\0connecting\0ping\0frame\0forgotten\0
    """)
}

@_cdecl("apns_log_kind_name") @implementation
public func apns_log_kind_name(_ kind: apns_log_kind_t) -> UnsafePointer<CChar>? {
  let name = names[Int(kind.rawValue)]
  return (name.count > 0 ? name : names[0]).baseAddress?.assumingMemoryBound(to: CChar.self)
}
