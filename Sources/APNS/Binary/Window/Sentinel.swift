/// A notification known to be bad that a connection carries last. The gateway must name it, which
/// proves everything sent before it on that connection.
///
/// It is not an entry of the window, so it can follow any frame.
struct Sentinel {
  /// 0: the connection has no sentinel.
  private(set) var identifier: UInt32 = 0
  private var size = 0
  private(set) var written = 0

  /// Room for its frame in the longest format.
  static var room: Int { 32 }

  /// Once this is true, nothing else is sent on the connection.
  var isBegun: Bool { identifier != 0 }
  var isWhole: Bool { isBegun && written == size }

  mutating func begin(_ identifier: UInt32, size: Int) {
    self = Sentinel()
    (self.identifier, self.size) = (identifier, size)
  }

  mutating func wrote(_ count: Int) { written &+= count }
}
