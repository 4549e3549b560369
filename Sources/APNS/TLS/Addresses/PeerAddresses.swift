import CAPNS
import CSystem

/// The addresses of a name, in the order in which they are tried.
struct PeerAddresses: ~Copyable {
  private let addresses: UnsafeMutablePointer<PeerAddress>
  private let room: Int
  private var count = 0
  private var tried = 0
  /// After an address of one family comes one of the other, while there is one (RFC 8305, 4).
  var alternates = false

  /// An empty list with room for `room` addresses.
  init(room: Int) throws(Failure) {
    let (size, overflow) = room.multipliedReportingOverflow(by: MemoryLayout<PeerAddress>.stride)
    guard room > 0, !overflow, let memory = malloc(size) else { throw .outOfMemory }
    addresses = memory.bindMemory(to: PeerAddress.self, capacity: room)
    self.room = room
  }

  deinit { free(addresses) }

  /// How many have not been tried.
  var left: Int { count &- tried }

  /// Leaves out entries that are not addresses, or have no room.
  mutating func append(_ address: UnsafePointer<sockaddr>?, size: socklen_t) {
    guard count < room, let address = PeerAddress(address, size: size) else { return }
    (addresses + count).initialize(to: address)
    count &+= 1
  }

  mutating func next(port: UInt16) -> PeerAddress? {
    guard tried < count else { return nil }
    if alternates, tried > 0 {
      let last = addresses[tried &- 1].family
      var other = tried
      while other < count, addresses[other].family == last { other &+= 1 }
      if other < count { bringForward(other) }
    }
    defer { tried &+= 1 }
    return addresses[tried].with(port: port)
  }

  /// Makes that address the next, if it is one of them and has not been tried.
  mutating func prefer(_ address: PeerAddress) {
    for index in tried..<count where addresses[index].isSame(as: address) {
      return bringForward(index)
    }
  }

  private mutating func bringForward(_ index: Int) {
    let address = addresses[index]
    memmove(
      addresses + tried + 1, addresses + tried,
      (index &- tried) &* MemoryLayout<PeerAddress>.stride)
    addresses[tried] = address
  }

  /// The same addresses, as if untried.
  @inline(never)
  func copy() throws(Failure) -> PeerAddresses {
    var other = try PeerAddresses(room: room)
    for index in 0..<count { (other.addresses + index).initialize(to: addresses[index]) }
    other.count = count
    return other
  }
}
