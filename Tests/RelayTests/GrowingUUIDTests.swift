import Testing

@testable import Relay

@Suite struct GrowingUUIDTests {
  @Test func theyAreUUIDsOfVersion7AndGrow() {
    var (one, other) = (GrowingUUID(), GrowingUUID())
    var all: [String] = []
    for time in Int64(1_800_000_000_000)...1_800_000_000_020 {
      for _ in 0..<500 { all += [one.next(at: time), other.next(at: time)] }
    }
    #expect(Set(all).count == all.count)
    #expect(all.allSatisfy(PushLimits.isUUID))
    #expect(all.allSatisfy { $0 == $0.lowercased() })
    let bytes = all.map { Array($0.utf8) }
    #expect(bytes.allSatisfy { $0[14] == UInt8(ascii: "7") })
    #expect(bytes.allSatisfy { [0x38, 0x39, 0x61, 0x62].contains($0[19]) })
    // Their time prefix, by which they sort.
    let times = all.map { String($0.prefix(13)) }
    #expect(times == times.sorted())
  }
}
