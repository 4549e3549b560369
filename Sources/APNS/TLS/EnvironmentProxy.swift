import CSystem

/// The proxy that the environment names, as for curl. This machine itself needs no proxy.
enum EnvironmentProxy {
  /// The variable, and its text.
  struct Found {
    let name: StaticString
    let text: UnsafePointer<CChar>
  }

  /// Nil: none is named for this host.
  @inline(never)
  static func proxy(for host: UnsafePointer<CChar>) -> Found? {
    guard
      let found = find("https_proxy") ?? find("HTTPS_PROXY") ?? find("all_proxy")
        ?? find(
          "ALL_PROXY")
    else { return nil }
    let host = HostName(host)
    if host.isThisMachine { return nil }
    guard let list = find("no_proxy") ?? find("NO_PROXY") else { return found }
    return isListed(host, list.text) ? nil : found
  }

  private static func find(_ name: StaticString) -> Found? {
    let text = getenv(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    guard let text, text.pointee != 0 else { return nil }
    return Found(name: name, text: UnsafePointer(text))
  }

  /// The list has names, addresses and networks, with commas or spaces between them.
  private static func isListed(_ host: HostName, _ list: UnsafePointer<CChar>) -> Bool {
    let text = UnsafeRawBufferPointer(start: list, count: strlen(list))
    var start = 0
    while start < text.count {
      var end = start
      while end < text.count, text[end] != UInt8(ascii: ","), text[end] > 0x20 { end &+= 1 }
      if host.matches(UnsafeRawBufferPointer(rebasing: text[start..<end])) { return true }
      start = end &+ 1
    }
    return false
  }
}

/// A host's name or address, to be compared with a list.
private struct HostName {
  private let name: UnsafeRawBufferPointer
  private let address: Address?

  init(_ text: UnsafePointer<CChar>) {
    name = Self.trimmed(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    address = Address(name)
  }

  var isThisMachine: Bool {
    if let address { return address.isLoopback }
    return name.isSame(as: UnsafeRawBufferPointer("localhost"))
  }

  /// The host itself or a domain that it belongs to; of an address it or its network ("10.0.0.0/8").
  func matches(_ entry: UnsafeRawBufferPointer) -> Bool {
    if entry.count == 1, entry[0] == UInt8(ascii: "*") { return true }
    guard let address else {
      var domain = Self.trimmed(entry)
      if domain.first == 0x2E { domain = UnsafeRawBufferPointer(rebasing: domain.dropFirst()) }
      let rest = name.count &- domain.count
      guard !domain.isEmpty, rest == 0 || rest > 0 && name[rest &- 1] == 0x2E else { return false }
      return UnsafeRawBufferPointer(rebasing: name[rest...]).isSame(as: domain)
    }
    var (count, bits) = (entry.count, 128)
    for index in 0..<entry.count where entry[index] == UInt8(ascii: "/") {
      guard let number = Self.number(UnsafeRawBufferPointer(rebasing: entry[(index &+ 1)...]))
      else { return false }
      (count, bits) = (index, number)
    }
    guard let other = Address(UnsafeRawBufferPointer(rebasing: entry[..<count])) else {
      return false
    }
    return address.begins(as: other, bits: bits)
  }

  private static func number(_ digits: UnsafeRawBufferPointer) -> Int? {
    var number = 0
    for byte in digits {
      guard byte >= 0x30, byte <= 0x39, number <= 128 else { return nil }
      number = number &* 10 &+ Int(byte &- 0x30)
    }
    return digits.isEmpty ? nil : number
  }

  /// Without the dot of the root.
  private static func trimmed(_ name: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    name.last == UInt8(ascii: ".") ? UnsafeRawBufferPointer(rebasing: name.dropLast()) : name
  }
}

/// An IPv4 or IPv6 address in the order of the network.
private struct Address {
  private var bytes: (UInt64, UInt64) = (0, 0)
  private let count: Int

  /// Nil: the text is a name. IPv6 may stand in brackets.
  init?(_ text: UnsafeRawBufferPointer) {
    let isBracketed = text.first == 0x5B && text.last == 0x5D && text.count > 2
    let text = isBracketed ? UnsafeRawBufferPointer(rebasing: text.dropFirst().dropLast()) : text
    guard text.count > 1, text.count < 46 else { return nil }
    var copy: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
    var parsed: (UInt64, UInt64) = (0, 0)
    let family = withUnsafeMutableBytes(of: &copy) { copy in
      copy.copyMemory(from: text)
      return withUnsafeMutableBytes(of: &parsed) { parsed in
        let text = copy.baseAddress?.assumingMemoryBound(to: CChar.self)
        if inet_pton(AF_INET, text, parsed.baseAddress) == 1 { return 4 }
        return inet_pton(AF_INET6, text, parsed.baseAddress) == 1 ? 16 : 0
      }
    }
    guard family > 0 else { return nil }
    (bytes, count) = (parsed, family)
  }

  var isLoopback: Bool {
    withUnsafeBytes(of: bytes) {
      if count == 4 { return $0[0] == 127 }
      for index in 0..<15 where $0[index] != 0 { return false }
      return $0[15] == 1
    }
  }

  /// More bits than there are: all.
  func begins(as other: Address, bits: Int) -> Bool {
    guard count == other.count else { return false }
    return withUnsafeBytes(of: bytes) { own in
      withUnsafeBytes(of: other.bytes) { other in
        for index in 0..<count {
          let left = bits &- index &* 8
          if left <= 0 { return true }
          let mask: UInt8 = left >= 8 ? 0xFF : UInt8(truncatingIfNeeded: 0xFF00 &>> left)
          if (own[index] ^ other[index]) & mask != 0 { return false }
        }
        return true
      }
    }
  }
}
