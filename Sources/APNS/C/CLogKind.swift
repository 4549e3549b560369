import CAPNS

/// The kinds' names, in the order of their numbers.
private var names: WordList {
  WordList(
    """
    unknown\0connected\0refused\0ended\0given_up\0goaway\0reset\0overdue\0resent\0later\0pause\0\
    full\0token\0cache\0closed\0connecting\0asked\0frame\0forgotten\0
    """)
}

@_cdecl("apns_log_kind_name") @implementation
public func apns_log_kind_name(_ kind: apns_log_kind_t) -> UnsafePointer<CChar>? {
  let name = names[Int(kind.rawValue)]
  return (name.count > 0 ? name : names[0]).baseAddress?.assumingMemoryBound(to: CChar.self)
}
