/// Checks JSON that somebody else wrote and writes it again without spaces and without
/// unnecessary escapes. Numbers keep their digits.
enum CompactJSON {
  /// Writes one value and returns where it ended. The value never gets longer, so `target`
  /// needs as many bytes as `json` has.
  @inline(never)
  static func write(
    _ json: UnsafeRawBufferPointer, within depth: Int, to target: UnsafeMutableRawPointer
  ) throws(JSONFault) -> UnsafeMutableRawPointer {
    var reader = JSONReader(json, within: depth)
    var target = target
    var wantsComma = false
    func put(_ byte: UInt8) {
      target.storeBytes(of: byte, as: UInt8.self)
      target += 1
    }
    while true {
      let token = try reader.next()
      switch token {
      case .end: return target
      case .endObject, .endArray: break
      default: if wantsComma { put(0x2C) }
      }
      wantsComma = true
      switch token {
      case .beginObject, .beginArray, .name: wantsComma = false
      default: break
      }
      switch token {
      case .name, .string:
        put(0x22)
        target = try write(string: json, from: reader.start, to: reader.end, target)
        put(0x22)
        if token == .name { put(0x3A) }
      default:
        for index in reader.start..<reader.end { put(json[index]) }
      }
    }
  }

  private static func write(
    string json: UnsafeRawBufferPointer, from start: Int, to end: Int,
    _ target: UnsafeMutableRawPointer
  ) throws(JSONFault) -> UnsafeMutableRawPointer {
    var target = target
    var index = start
    while index < end {
      if json[index] != 0x5C {
        target.storeBytes(of: json[index], as: UInt8.self)
        target += 1
        index &+= 1
        continue
      }
      let escape = try JSONEscape.read(json, at: index)
      index &+= escape.length
      if escape.scalar < 0x80 {
        target = JSONText.write(byte: UInt8(truncatingIfNeeded: escape.scalar), to: target)
      } else {
        target += UTF8Text.encode(escape.scalar, into: target)
      }
    }
    return target
  }
}
