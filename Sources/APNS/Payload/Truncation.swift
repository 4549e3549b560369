/// Whether a text may be shortened to make the payload fit, and what is appended then.
struct Truncation: ~Copyable {
  let isAllowed: Bool
  /// The suffix, already escaped.
  private var suffix = ByteStore()
  private var suffixStart: UInt32?

  var suffixLength: Int { suffix.count }

  enum Fault: Error {
    case text(PayloadFault)
    /// The suffix would become part of the character before it.
    case joins
  }

  static var none: Truncation { Truncation() }

  private init() { isAllowed = false }

  init(suffix text: UnsafeRawBufferPointer) throws(Fault) {
    isAllowed = true
    guard text.count > 0 else { return }
    do throws(PayloadFault) {
      let measured = try JSONText.measure(text)
      let target = try suffix.room(for: measured)
      _ = JSONText.write(text, measured: measured, to: target)
      suffix.count = measured
    } catch {
      throw .text(error)
    }
    let first = UTF8Text.decode(text, at: 0)?.scalar
    suffixStart = first
    var breaker = GraphemeBreaker()
    _ = breaker.begins(0x61)
    if let first, !breaker.begins(first) { throw .joins }
  }

  /// How much of an escaped text to keep: as many visible characters as fit, none of them
  /// changed by the suffix. Nil if there is not even room for an empty text.
  func keep(
    _ text: UnsafeRawBufferPointer, room: Int
  ) -> (length: Int, rawLength: Int)? {
    guard room >= 0 else { return nil }
    var breaker = GraphemeBreaker()
    var offset = 0
    var rawOffset = 0
    var kept = (length: 0, rawLength: 0)
    while offset <= room, let character = JSONText.decode(text, at: offset) {
      var before = breaker
      if breaker.begins(character.scalar), suffixStart.map({ before.begins($0) }) ?? true {
        kept = (offset, rawOffset)
      }
      offset &+= character.length
      rawOffset &+= character.rawLength
    }
    return kept
  }

  /// Writes the suffix and returns where it ended.
  func putSuffix(_ target: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    guard let base = suffix.base else { return target }
    target.copyMemory(from: base, byteCount: suffix.count)
    return target + suffix.count
  }
}
