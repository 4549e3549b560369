/// How connections were made, or failed.
struct Handshakes {
  var full12: UInt32 = 0
  var resumed12: UInt32 = 0
  var full13: UInt32 = 0
  var resumed13: UInt32 = 0
  /// By the number of the status without its sign.
  var failed = InlineArray<16, UInt32>(repeating: 0)

  mutating func made(isResumed: Bool, isNewest: Bool) {
    switch (isResumed, isNewest) {
    case (false, false): full12 &+= 1
    case (true, false): resumed12 &+= 1
    case (false, true): full13 &+= 1
    case (true, true): resumed13 &+= 1
    }
  }

  mutating func failed(_ status: Int) { failed[max(0, min(status, failed.count &- 1))] &+= 1 }
}
