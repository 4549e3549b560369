/// Checks foreign JSON and writes it again without spaces and without unnecessary escapes. Numbers
/// keep their digits.
enum CompactJSON {
  /// Writes one value and returns where it ended. The value never gets longer, so `target`
  /// needs as many bytes as `json` has.
  @_optimize(speed)
  @inline(never)
  static func write(
    _ json: UnsafeRawBufferPointer, within depth: Int, to target: UnsafeMutableRawPointer
  ) throws(JSONFault) -> UnsafeMutableRawPointer {
    guard try isCompact(json, within: depth), let base = json.baseAddress else {
      return try rewrite(json, within: depth, to: target)
    }
    copyShort(base, to: target, json.count)
    return target + json.count
  }

  /// Whether JSON has neither spaces nor escapes. Reads no further than to the first.
  @_optimize(speed)
  private static func isCompact(
    _ json: UnsafeRawBufferPointer, within depth: Int
  ) throws(JSONFault) -> Bool {
    var reader = JSONReader(json, within: depth)
    var length = 0
    var comma = 0
    while true {
      let token = try reader.next()
      switch token {
      case .end: return length == json.count
      case .endObject, .endArray: break
      default: length &+= comma
      }
      comma = 1
      length &+= reader.end &- reader.start
      switch token {
      case .beginObject, .beginArray: comma = 0
      case .name:
        comma = 0
        length &+= 3
        if reader.hasEscape { return false }
      case .string:
        length &+= 2
        if reader.hasEscape { return false }
      default: break
      }
      if reader.offset != length { return false }
    }
  }

  @inline(never)
  private static func rewrite(
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
      default: if wantsComma { put(UInt8(ascii: ",")) }
      }
      wantsComma = true
      switch token {
      case .beginObject, .beginArray, .name: wantsComma = false
      default: break
      }
      switch token {
      case .name, .string:
        put(UInt8(ascii: "\""))
        target = try write(string: json, from: reader.start, to: reader.end, target)
        put(UInt8(ascii: "\""))
        if token == .name { put(UInt8(ascii: ":")) }
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
      if json[index] != UInt8(ascii: "\\") {
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
