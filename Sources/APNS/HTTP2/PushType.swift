import CSystem

/// What kind of push a notification is: the header `apns-push-type`. The numbers are
/// those of `apns_push_type_t`.
enum PushType: UInt8 {
  case alert = 1
  case background, location, voip, complication, fileprovider, mdm, liveactivity, pushtotalk
  case widgets, controls

  /// As APNs reads it; static, with a NUL behind it.
  var text: UnsafeRawBufferPointer {
    WordList(
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

  /// How long a payload may be.
  var payloadMax: Int { self == .voip ? 5120 : 4096 }

  /// What a payload is meant for: background where the app is woken and nobody sees or
  /// hears anything, alert for all else, and for what cannot be read.
  @_optimize(speed)
  static func inferred(from payload: UnsafeRawBufferPointer) -> PushType {
    do throws(JSONFault) {
      return try isSilent(payload) ? .background : .alert
    } catch {
      return .alert
    }
  }

  /// Stops at the first thing that is not.
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
    // Something behind the object would make it no JSON.
    _ = try reader.next()
    return wakes
  }

  /// Whether it is that name, however it is escaped.
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
