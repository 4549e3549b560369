import CSystem

/// The kind of push, as in the header `apns-push-type`. The numbers are those of
/// `apns_push_type_t`.
enum PushType: UInt8 {
  case alert = 1
  case background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk
  case widgets, controls

  /// The text for APNs; static, followed by a NUL.
  var text: UnsafeRawBufferPointer {
    // Most notifications are alerts, so the list need not be searched for them.
    if self == .alert {
      let text: StaticString = "alert"
      return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
    return WordList(
      """
      alert\0\
      background\0\
      location\0\
      voip\0\
      complication\0\
      fileprovider\0\
      mdm\0\
      liveactivity\0\
      pushtotalk\0\
      widgets\0\
      controls\0\

      """)[Int(rawValue) &- 1]
  }

  /// The greatest length of a payload.
  var payloadMax: Int { self == .voip ? 5120 : 4096 }

  /// The type a payload is meant for: background if it wakes the app and the user sees and
  /// hears nothing, and alert for everything else, including what cannot be read.
  @_optimize(speed)
  static func inferred(from payload: UnsafeRawBufferPointer) -> PushType {
    // Most payloads have no `content-available`, and need not be parsed to know it.
    guard mayWake(payload) else { return .alert }
    do throws(JSONFault) {
      return try isSilent(payload) ? .background : .alert
    } catch {
      return .alert
    }
  }

  /// Whether the payload contains the name `content-available` somewhere, or an escape that
  /// may hide a letter of it or of `aps`. All these letters are below U+0100.
  @_optimize(speed)
  private static func mayWake(_ payload: UnsafeRawBufferPointer) -> Bool {
    let name: StaticString = "content-available"
    let before = 7
    let behind = name.utf8CodeUnitCount &- before
    guard let start = payload.baseAddress else { return false }
    let end = start + payload.count
    var next = start
    while let hyphen = memchr(next, 0x2D, end - next) {
      let at = UnsafeRawPointer(hyphen)
      if at - start >= before, end - at >= behind,
        memcmp(at - before, name.utf8Start, name.utf8CodeUnitCount) == 0
      {
        return true
      }
      next = at + 1
    }
    next = start
    while let escape = memchr(next, 0x5C, end - next) {
      let at = UnsafeRawPointer(escape)
      if end - at >= 4, memcmp(at + 1, ("u00" as StaticString).utf8Start, 3) == 0 { return true }
      // The escaped character may itself be a backslash.
      next = end - at > 2 ? at + 2 : end
    }
    return false
  }

  /// Stops at the first sign that the payload is not silent.
  @_optimize(speed)
  private static func isSilent(_ payload: UnsafeRawBufferPointer) throws(JSONFault) -> Bool {
    var reader = JSONReader(payload)
    guard try reader.next() == .beginObject else { return false }
    var wakes = false
    while try reader.next() == .name {
      let isAps = isName(reader.token, "aps")
      let value = try reader.next()
      guard isAps, value == .beginObject else {
        try reader.skip(value)
        continue
      }
      while try reader.next() == .name {
        let name = reader.token
        if isName(name, "alert") || isName(name, "badge") || isName(name, "sound") { return false }
        let isWaking = isName(name, "content-available")
        let value = try reader.next()
        if isWaking {
          wakes = value == .integer && reader.token.count == 1 && reader.token[0] == 0x31
        }
        try reader.skip(value)
      }
    }
    // Anything after the object makes it invalid JSON.
    _ = try reader.next()
    return wakes
  }

  /// Whether the token is that name, with or without escapes.
  @inline(__always)
  private static func isName(_ token: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
    guard let start = token.baseAddress, token.count >= name.utf8CodeUnitCount else { return false }
    if token.count == name.utf8CodeUnitCount {
      return memcmp(start, name.utf8Start, token.count) == 0
    }
    return isEscapedName(token, name)
  }

  @inline(never)
  private static func isEscapedName(
    _ token: UnsafeRawBufferPointer, _ name: StaticString
  ) -> Bool {
    for byte in token where byte == 0x5C { return KeyName(token).equals(name) }
    return false
  }
}
