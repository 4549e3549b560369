/// Frames written out by hand, so that nothing of the library's can agree with itself.
enum Frames {
  static let token = [UInt8](repeating: 0xAB, count: 32)
  static let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

  static func u16(_ value: Int) -> [UInt8] { [UInt8(value >> 8 & 255), UInt8(value & 255)] }

  static func u32(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  static func simple(token: [UInt8] = token, payload: [UInt8] = payload) -> [UInt8] {
    [0] + u16(token.count) + token + u16(payload.count) + payload
  }

  static func enhanced(
    _ identifier: UInt32, expiry: UInt32 = 0, token: [UInt8] = token, payload: [UInt8] = payload
  ) -> [UInt8] {
    [1] + u32(identifier) + u32(expiry) + u16(token.count) + token + u16(payload.count) + payload
  }

  static func item(_ kind: UInt8, _ data: [UInt8]) -> [UInt8] { [kind] + u16(data.count) + data }

  static func framed(_ items: [UInt8]...) -> [UInt8] {
    let all = items.flatMap { $0 }
    return [2] + u32(UInt32(all.count)) + all
  }

  static func framed(_ identifier: UInt32, token: [UInt8] = token) -> [UInt8] {
    framed(item(1, token), item(2, payload), item(3, u32(identifier)))
  }

  static func errorPacket(_ status: UInt8, _ identifier: UInt32) -> [UInt8] {
    [8, status] + u32(identifier)
  }
}
