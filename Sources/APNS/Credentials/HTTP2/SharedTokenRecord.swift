import COpenSSL
import CSystem

/// A provider token as processes share it in a file: fields of fixed size, and a checksum after
/// them. The numbers are in this machine's order, because the file is for this machine.
struct SharedTokenRecord: ~Copyable {
  static let size = 384
  private static let magicSize = 16
  private static let keyPlace = 16
  private static let teamPlace = 26
  private static let identifierSize = 10
  private static let countPlace = 36
  private static let madePlace = 40
  private static let forcedPlace = 48
  private static let chancePlace = 56
  private static let fingerprintPlace = 64
  private static let textPlace = 96
  private static let checkPlace = 352
  private static let checkSize = 32
  /// The first bytes, with the version of what follows; NULs fill them up.
  private static let magic: StaticString = "apns token 1\n"

  private let memory: UnsafeMutableRawBufferPointer

  /// Nil without memory.
  init?() {
    guard let start = calloc(1, Self.size) else { return nil }
    memory = UnsafeMutableRawBufferPointer(start: start, count: Self.size)
  }

  deinit {
    csystem_wipe(memory.baseAddress, memory.count)
    free(memory.baseAddress)
  }

  /// To be read into, or to be written.
  var bytes: UnsafeMutableRawBufferPointer { memory }

  /// "bearer " and the token.
  var text: UnsafeRawBufferPointer {
    let count = Int(load(Self.countPlace, as: UInt32.self))
    let room = UnsafeRawBufferPointer(
      rebasing: memory[Self.textPlace..<Self.checkPlace])
    return UnsafeRawBufferPointer(rebasing: room[..<min(max(0, count), room.count)])
  }

  var times: SharedTokenTimes {
    SharedTokenTimes(
      made: load(Self.madePlace, as: Int64.self), forced: load(Self.forcedPlace, as: Int64.self),
      chance: load(Self.chancePlace, as: UInt32.self))
  }

  private func load<T: BitwiseCopyable>(_ place: Int, as type: T.Type) -> T {
    memory.loadUnaligned(fromByteOffset: place, as: type)
  }

  /// False if the token is too long for a record, or without memory.
  mutating func fill(
    _ text: UnsafeRawBufferPointer, _ times: SharedTokenTimes, of signer: borrowing TokenSigner
  ) -> Bool {
    guard let start = memory.baseAddress, let text = text.baseAddress.map({ ($0, text.count) }),
      text.1 <= Self.checkPlace - Self.textPlace
    else { return false }
    csystem_wipe(start, Self.size)
    label(start, signer)
    memory.storeBytes(
      of: UInt32(truncatingIfNeeded: text.1), toByteOffset: Self.countPlace, as: UInt32.self)
    memory.storeBytes(of: times.made, toByteOffset: Self.madePlace, as: Int64.self)
    memory.storeBytes(of: times.forced, toByteOffset: Self.forcedPlace, as: Int64.self)
    memory.storeBytes(of: times.chance, toByteOffset: Self.chancePlace, as: UInt32.self)
    memcpy(start + Self.textPlace, text.0, text.1)
    return copenssl_sha256(start, Self.checkPlace, start + Self.checkPlace) == 1
  }

  /// Writes the token's owner.
  private func label(_ start: UnsafeMutableRawPointer, _ signer: borrowing TokenSigner) {
    memcpy(start, Self.magic.utf8Start, Self.magic.utf8CodeUnitCount)
    memcpy(start + Self.keyPlace, signer.keyID, Self.identifierSize)
    memcpy(start + Self.teamPlace, signer.teamID, Self.identifierSize)
    let fingerprint = signer.fingerprint
    for index in 0..<32 {
      start.storeBytes(
        of: fingerprint[index], toByteOffset: Self.fingerprintPlace &+ index, as: UInt8.self)
    }
  }

  /// Whether the bytes are whole, and a token of that key.
  func isToken(of signer: borrowing TokenSigner) -> Bool {
    guard let start = memory.baseAddress else { return false }
    var check = InlineArray<32, UInt8>(repeating: 0)
    let isWhole = withUnsafeMutableBytes(of: &check) {
      guard let check = $0.baseAddress else { return false }
      return copenssl_sha256(start, Self.checkPlace, check) == 1
        && memcmp(check, start + Self.checkPlace, Self.checkSize) == 0
    }
    guard isWhole else { return false }
    var expected = InlineArray<96, UInt8>(repeating: 0)
    let isOurs = withUnsafeMutableBytes(of: &expected) { expected in
      guard let label = expected.baseAddress else { return false }
      self.label(label, signer)
      return memcmp(label, start, Self.countPlace) == 0
        && memcmp(
          label + Self.fingerprintPlace, start + Self.fingerprintPlace,
          Self.textPlace - Self.fingerprintPlace) == 0
    }
    let text = self.text
    guard let token = text.baseAddress else { return false }
    return isOurs && text.count > TokenSigner.prefixLength
      && load(Self.countPlace, as: UInt32.self) == UInt32(truncatingIfNeeded: text.count)
      && memcmp(token, TokenSigner.prefix.utf8Start, TokenSigner.prefixLength) == 0
      && HostToken.isToken(UnsafeRawBufferPointer(rebasing: text[TokenSigner.prefixLength...]))
  }
}
