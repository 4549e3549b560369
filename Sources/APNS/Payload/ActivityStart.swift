/// Whether a payload starts a Live Activity, which a broadcast cannot (Apple: Sending broadcast push
/// notification requests to APNs).
enum ActivityStart {
  static var event: StaticString { "start" }

  /// False for what cannot be read.
  @inline(never)
  static func isMeant(by payload: UnsafeRawBufferPointer) -> Bool {
    do throws(JSONFault) {
      var reader = JSONReader(payload)
      guard try reader.next() == .beginObject else { return false }
      while try reader.next() == .name {
        let isAps = KeyName(reader.token).equals("aps")
        let value = try reader.next()
        guard isAps, value == .beginObject else {
          try reader.skip(value)
          continue
        }
        while try reader.next() == .name {
          let isEvent = KeyName(reader.token).equals("event")
          let value = try reader.next()
          if isEvent, value == .string, KeyName(reader.token).equals(event) { return true }
          try reader.skip(value)
        }
      }
      return false
    } catch {
      return false
    }
  }
}
