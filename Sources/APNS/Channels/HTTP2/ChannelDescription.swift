/// APNs' description of a channel: `{"message-storage-policy": 1, "push-type": "LiveActivity"}`.
struct ChannelDescription {
  private(set) var storage: Int32 = 0
  private(set) var isForLiveActivities = false

  /// Nil if the bytes have no storage policy.
  init?(_ bytes: UnsafeRawBufferPointer) {
    var hasStorage = false
    do throws(JSONFault) {
      var reader = JSONReader(bytes)
      guard try reader.next() == .beginObject else { return nil }
      while try reader.next() == .name {
        let name = KeyName(reader.token)
        let value = try reader.next()
        if value == .integer, name.equals("message-storage-policy"), reader.token.count == 1 {
          storage = Int32(reader.token[0] &- 0x30)
          hasStorage = storage >= 0 && storage <= 9
        } else if value == .string, name.equals("push-type") {
          isForLiveActivities = KeyName(reader.token).equals("LiveActivity")
        }
        try reader.skip(value)
      }
      guard try reader.next() == .end, hasStorage else { return nil }
    } catch {
      return nil
    }
  }
}
