import Glibc
import Testing

@testable import APNS

/// The list of devices that the service has reported as gone.
@Suite struct GoneDevicesTests {
  /// Pairs of four-byte strings for building longer ones. Either member of a pair gives the same
  /// lowest 28 bits of FNV-1a.
  private static func alike() -> [([UInt8], [UInt8])] {
    var state: UInt32 = 0x811C_9DC5
    return (0..<15).map { _ in
      var seen: [UInt32: [UInt8]] = [:]
      var number: UInt32 = 0
      while true {
        let mixed = number &* 0x9E37_79B1
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: mixed &>> (8 * UInt32($0))) }
        let next = hash(bytes, from: state) & 0x0FFF_FFFF
        if let other = seen[next] {
          state = next
          return (other, bytes)
        }
        seen[next] = bytes
        number += 1
      }
    }
  }

  private static func hash(_ bytes: [UInt8], from state: UInt32) -> UInt32 {
    bytes.reduce(state) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }

  private static var cpu: Int {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
  }

  private func time(_ tokens: [[UInt8]]) throws -> Int {
    let devices = try #require(UnsafeMutablePointer<GoneDevices>.make())
    defer { devices.release() }
    let start = Self.cpu
    for token in tokens { token.withUnsafeBytes { devices.pointee.note($0, timestamp: 1) } }
    return Self.cpu - start
  }

  @Test func tokensThatCollideInAKnownHash() throws {
    let alike = Self.alike()
    let count = 1 << 15
    let tokens = (0..<count).map { number in
      alike.enumerated().flatMap { number >> $0 & 1 == 0 ? $1.0 : $1.1 }
    }
    let usual = (0..<count).map { number in
      withUnsafeBytes(of: number) { Array($0) } + Array(repeating: 7, count: 52)
    }
    #expect(Set(tokens.map { Self.hash($0, from: 0x811C_9DC5) & 0x0FFF_FFFF }).count == 1)
    let expected = try time(usual) + time(usual)
    #expect(try time(tokens) < 10 * expected + 10_000_000)
  }

  /// Each device is listed once with its last time, even if hashes collide.
  @Test func everyDeviceIsListedOnce() throws {
    let devices = try #require(UnsafeMutablePointer<GoneDevices>.make())
    defer { devices.release() }
    var random = SplitMix64(seed: 15)
    var expected: [(token: [UInt8], timestamp: UInt32)] = []
    for _ in 0..<3000 {
      let token = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        UInt8.random(in: 0..<16, using: &random)
      }
      let timestamp = UInt32.random(in: 0..<100, using: &random)
      token.withUnsafeBytes { devices.pointee.note($0, timestamp: timestamp) }
      if let index = expected.firstIndex(where: { $0.token == token }) {
        expected[index].timestamp = max(expected[index].timestamp, timestamp)
      } else {
        expected.append((token, timestamp))
      }
    }
    var feedback = GoneFeedback(devices)
    for one in expected {
      let told = feedback.next()
      #expect(told.map { Array($0.token) } == one.token)
      #expect(told?.timestamp == one.timestamp)
    }
    let more = feedback.next()
    #expect(more == nil)
  }
}
