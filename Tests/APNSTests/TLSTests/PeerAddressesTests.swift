import CAPNS
import Testing

@testable import APNS

/// The order in which the addresses of a name are tried.
struct PeerAddressesTests {
  private func order(_ text: String, alternates: Bool, preferring preferred: String? = nil) throws
    -> String
  {
    var list = try GivenAddresses.read(text)
    list.alternates = alternates
    if let preferred {
      var other = try GivenAddresses.read(preferred)
      let first = other.next(port: 2195)
      list.prefer(try #require(first))
    }
    var told = Message()
    while let address = list.next(port: 443) {
      if told.count > 0 { told.append(" ") }
      address.append(to: &told)
    }
    return String(decoding: (0..<told.count).map { told.bytes[$0] }, as: UTF8.self)
  }

  @Test func familiesAlternate() throws {
    #expect(try order("::1,::2,::3,127.0.0.1", alternates: true) == "::1 127.0.0.1 ::2 ::3")
    #expect(
      try order("127.0.0.1,127.0.0.2,::1,::2,127.0.0.3", alternates: true)
        == "127.0.0.1 ::1 127.0.0.2 ::2 127.0.0.3")
    #expect(try order("::1,::2,::3", alternates: true) == "::1 ::2 ::3")
  }

  @Test func givenAddressesKeepTheirOrder() throws {
    #expect(try order("::1,::2,127.0.0.1", alternates: false) == "::1 ::2 127.0.0.1")
  }

  @Test func theLastWorkingAddressIsFirst() throws {
    #expect(
      try order("::1,::2,127.0.0.1,127.0.0.2", alternates: true, preferring: "127.0.0.2")
        == "127.0.0.2 ::1 127.0.0.1 ::2")
    #expect(try order("::1,::2", alternates: true, preferring: "::3") == "::1 ::2")
  }
}
