/// The `due` of entries that wait for the `per_second` of their campaign, a different one for each
/// campaign. No producer can set it, as with `PausedTime`.
enum PacedTime {
  static let times: Range<Int64> = first..<first + 1 << 49
  private static let first: Int64 = 3_100_000_000_000_000

  static func of(_ campaign: String) -> Int64 {
    // FNV-1a.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in campaign.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return first + Int64(hash >> 15)
  }
}
