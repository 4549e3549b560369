/// The notification known to be bad that a connection carries last: the gateway cannot but
/// name it, and thereby proves all that came before it there.
///
/// It is no entry of the window, so that it can follow any frame of it.
struct Sentinel {
  /// 0: the connection has none.
  private(set) var identifier: UInt32 = 0
  private var size = 0
  private(set) var written = 0

  /// Its frame in the longest format fits into this.
  static var room: Int { 32 }

  /// From then on nothing else goes out on the connection.
  var isBegun: Bool { identifier != 0 }
  var isWhole: Bool { isBegun && written == size }

  mutating func begin(_ identifier: UInt32, size: Int) {
    self = Sentinel()
    (self.identifier, self.size) = (identifier, size)
  }

  mutating func wrote(_ count: Int) { written &+= count }
}
