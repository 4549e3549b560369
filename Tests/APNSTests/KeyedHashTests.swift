import Testing

@testable import APNS

@Suite struct KeyedHashTests {
  private func hash(_ bytes: [UInt8], _ key: (UInt64, UInt64)) -> UInt64 {
    bytes.withUnsafeBytes { KeyedHash(key: key).hash($0.baseAddress, $0.count) }
  }

  /// SipHash-1-3 of the bytes 0, 1, 2 ... with the key 0 to 15. The values are from its
  /// authors' program.
  @Test func vectors() {
    let key: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
    let expected: [UInt64] = [
      0xABAC_0158_050F_C4DC, 0xC9F4_9BF3_7D57_CA93, 0x82CB_9B02_4DC7_D44D, 0x8BF8_0AB8_E7DD_F7FB,
      0xCF75_5760_88D3_8328, 0xDEF9_D52F_4953_3B67, 0xC50D_2B50_C59F_22A7, 0xD392_7D98_9BB1_1140,
      0x3690_9511_8D29_9A8E, 0x25A4_8EB3_6C06_3DE4, 0x79DE_85EE_92FF_097F, 0x70C1_18C1_F94D_C352,
      0x78A3_84B1_57B4_D9A2, 0x306F_760C_1229_FFA7, 0x605A_A111_C0F9_5D34, 0xD320_D86D_2A51_9956,
      0xCC4F_DD1A_7D90_8B66, 0x9CF2_6890_63DB_D80C,
    ]
    for (count, value) in expected.enumerated() {
      #expect(hash((0..<UInt8(count)).map { $0 }, key) == value)
    }
  }

  /// The process has one key: the hash is the same each time, and differs from the hash
  /// with a key of zeros.
  @Test func ofThisProcess() {
    let text = Array("com.example".utf8)
    let one = text.withUnsafeBytes { KeyedHash().hash($0.baseAddress, $0.count) }
    let other = text.withUnsafeBytes { KeyedHash().hash($0.baseAddress, $0.count) }
    #expect(one == other)
    #expect(one != hash(text, (0, 0)))
  }
}
