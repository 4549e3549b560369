import CSystem

/// The kind of push, as in the header `apns-push-type`. The numbers are those of
/// `apns_push_type_t`.
package enum PushType: UInt8 {
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

  /// The end of this type's topics, after the app's bundle ID (Sending notification requests to
  /// APNs, apns-push-type). Device management has different topics.
  var topicSuffix: UnsafeRawBufferPointer {
    @inline(never) get {
      let text: StaticString =
        switch self {
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        case .alert, .background, .mdm: ""
        }
      return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
  }

  /// Whether the topic has this type's suffix.
  @inline(never)
  func fits(_ topic: UnsafeRawBufferPointer) -> Bool {
    let suffix = topicSuffix
    if suffix.count == 0 { return true }
    guard let end = suffix.baseAddress, let start = topic.baseAddress else { return false }
    let head = topic.count &- suffix.count
    return head > 0 && memcmp(start + head, end, suffix.count) == 0
  }

  /// The type of a topic, by its suffix or as one of device management.
  package static func named(in topic: UnsafeRawBufferPointer) -> PushType? {
    guard topic.count > 2 else { return nil }
    let type: PushType
    switch (topic[topic.count &- 2], topic[topic.count &- 1]) {
    case (0x74, 0x79): type = .liveactivity
    case (0x74, 0x73): type = .widgets
    case (0x6C, 0x73): type = .controls
    case (0x69, 0x70): type = .voip
    case (0x6F, 0x6E): type = .complication
    case (0x65, 0x72): type = .fileprovider
    case (0x72, 0x79): type = .location
    case (0x74, 0x74): type = .pushtotalk
    default: return begins(topic, "com.apple.mgmt.") ? .mdm : nil
    }
    if type.fits(topic) { return type }
    return begins(topic, "com.apple.mgmt.") ? .mdm : nil
  }

  @inline(never)
  static func begins(_ topic: UnsafeRawBufferPointer, _ start: StaticString) -> Bool {
    guard topic.count > start.utf8CodeUnitCount, let base = topic.baseAddress else { return false }
    return memcmp(base, start.utf8Start, start.utf8CodeUnitCount) == 0
  }

  /// Whether `other` is this topic followed by a push type's suffix: then this one is an app's own,
  /// even if the name of the app ends in `.voip`.
  static func isApp(_ topic: UnsafeRawBufferPointer, of other: UnsafeRawBufferPointer) -> Bool {
    guard let type = named(in: other), let base = topic.baseAddress, let start = other.baseAddress,
      topic.count &+ type.topicSuffix.count == other.count
    else { return false }
    return type != .mdm && memcmp(base, start, topic.count) == 0
  }

  /// The payload's type: that of a Live Activity or of device management; background if it wakes
  /// the app without anything to see or hear; and alert for everything else, including unreadable
  /// payloads.
  @_optimize(speed)
  @inline(never)
  package static func inferred(from payload: UnsafeRawBufferPointer) -> PushType {
    // Most payloads are alerts, and need not be parsed to know it.
    guard mayBeOther(payload) else { return .alert }
    do throws(JSONFault) {
      return try read(payload)
    } catch {
      return .alert
    }
  }

  @_optimize(speed)
  private static func read(_ payload: UnsafeRawBufferPointer) throws(JSONFault) -> PushType {
    var reader = JSONReader(payload)
    guard try reader.next() == .beginObject else { return .alert }
    var traits = PayloadTraits()
    var wakes = false
    while try reader.next() == .name {
      let (name, hasEscape) = (reader.token, reader.hasEscape)
      let value = try reader.next()
      if value == .string, PayloadCheck.is(name, "mdm", hasEscape) { traits.hasMDM = true }
      if PayloadCheck.is(name, "aps", hasEscape) {
        traits.hasAps = true
        if value == .beginObject {
          while try reader.next() == .name {
            let name = reader.token
            let key =
              reader.hasEscape
              ? KeyName(name).find(in: .aps) : PayloadObject.aps.find(name)
            let value = try reader.next()
            if let key {
              traits.keys |= 1 << UInt32(truncatingIfNeeded: key.number)
              if key.number == PayloadObject.wakingKey {
                wakes = value == .integer && reader.token.count == 1 && reader.token[0] == 0x31
              }
            }
            try reader.skip(value)
          }
          continue
        }
      }
      try reader.skip(value)
    }
    // Anything after the object makes it invalid JSON.
    _ = try reader.next()
    if traits.isActivity { return .liveactivity }
    if wakes, !traits.isShown { return .background }
    return traits.hasMDM && !traits.hasAps ? .mdm : .alert
  }

  /// For other types the app defines the meaning.
  var needsAps: Bool { self == .alert || self == .background }

  /// Whether a device or APNs may use this payload with this type.
  func suits(_ traits: PayloadTraits) -> Bool {
    switch self {
    // An app shows nothing of it either.
    case .alert:
      !traits.isActivity && !traits.changesContent || traits.isShown || traits.wakes
    case .mdm: traits.hasMDM
    case .liveactivity: traits.keys & PayloadObject.keysOfActivities != 0
    case .widgets, .controls: traits.changesContent
    default: true
    }
  }

  /// Whether the payload contains one of the names that make another type of it, or an escape that
  /// may hide a letter of one: `content-available`, `content-state`, `dismissal-date`, and `mdm` as
  /// the first.
  @_optimize(speed)
  private static func mayBeOther(_ payload: UnsafeRawBufferPointer) -> Bool {
    guard let start = payload.baseAddress, payload.count > 8 else { return false }
    let end = start + payload.count
    var next = JSONReader.hasMark(payload) ? start + 3 : start
    // To the first name's quotation mark.
    while end - next > 2 {
      let byte = next.load(as: UInt8.self)
      if byte > 0x20, byte != UInt8(ascii: "{") { break }
      next += 1
    }
    if next.load(fromByteOffset: 1, as: UInt8.self) == 0x6D { return true }
    next = start
    while let hyphen = memchr(next, 0x2D, end - next) {
      let at = UnsafeRawPointer(hyphen)
      next = at + 1
      guard at - start > 9, end - at > 2 else { continue }
      switch (at - 1).load(as: UInt8.self) {
      case 0x74: if memcmp(at - 7, ("content" as StaticString).utf8Start, 7) == 0 { return true }
      case 0x6C: if memcmp(at - 9, ("dismissal" as StaticString).utf8Start, 9) == 0 { return true }
      default: break
      }
    }
    next = start
    while let escape = memchr(next, 0x5C, end - next) {
      let at = UnsafeRawPointer(escape)
      if end - at > 6, memcmp(at + 1, ("u00" as StaticString).utf8Start, 3) == 0 {
        // A letter, or the hyphen.
        let digit = (at + 4).load(as: UInt8.self)
        if digit | 1 == 0x37 { return true }
        if digit == 0x32, (at + 5).load(as: UInt8.self) | 0x20 == 0x64 { return true }
      }
      // The escaped character may itself be a backslash.
      next = end - at > 2 ? at + 2 : end
    }
    return false
  }
}
