import CAPNS
import CSystem

/// The option `addresses`: "17.188.1.1, 2620:149::1".
enum GivenAddresses {
  @inline(never)
  static func read(_ text: UnsafePointer<CChar>) throws(Failure) -> PeerAddresses {
    var room = 1
    var end = 0
    while text[end] != 0 {
      if text[end] == comma { room &+= 1 }
      end &+= 1
    }
    var list = try PeerAddresses(room: room)
    var start = 0
    while start <= end {
      var stop = start
      while stop < end, text[stop] != comma { stop &+= 1 }
      try append(UnsafeBufferPointer(start: text, count: stop), from: start, to: &list)
      start = stop &+ 1
    }
    return list
  }

  private static var comma: CChar { 0x2C }

  private static func isSpace(_ byte: CChar) -> Bool { byte == 0x20 || byte == 0x09 }

  /// Appends the address from `start` to the text's end, with or without spaces around it.
  private static func append(
    _ text: UnsafeBufferPointer<CChar>, from start: Int, to list: inout PeerAddresses
  ) throws(Failure) {
    var (first, last) = (start, text.count)
    while first < last, isSpace(text[first]) { first &+= 1 }
    while last > first, isSpace(text[last &- 1]) { last &-= 1 }
    let word = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: text[first..<last]))
    var address = sockaddr_storage()
    let size = csystem_parse_address(word.baseAddress, word.count, &address)
    guard size > 0 else {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append("addresses has no IPv4 or IPv6 address at ")
        $0.append(first)
        $0.append(": \"")
        $0.append(name: word)
        $0.append("\"")
      }
    }
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { list.append($0, size: size) }
    }
  }
}
