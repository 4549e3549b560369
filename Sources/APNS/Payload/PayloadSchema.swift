import CSystem

/// The known keys of one of Apple's objects.
enum PayloadObject {
  /// `text` is the title or the body of a Live Activity's alert, to be localized by the device.
  case aps, alert, sound, text

  /// The names, one per line. Before each stand a letter for its type (`PayloadType` from A
  /// on) and a letter for its length (B is 1), so that names of another length are skipped.
  private var list: StaticString {
    switch self {
    case .aps:
      """
      GFalert
      PFbadge
      HFsound
      JRcontent-available
      JPmutable-content
      BIcategory
      BJthread-id
      BRtarget-content-id
      KSinterruption-level
      BPfilter-criteria
      DPrelevance-score
      EIurl-args
      FNcontent-state
      NFevent
      QJtimestamp
      QKstale-date
      ROdismissal-date
      BPattributes-type
      FKattributes
      JQinput-push-token
      BSinput-push-channel
      MPcontent-changed

      """
    case .alert:
      """
      LFtitle
      BIsubtitle
      LEbody
      BNtitle-loc-key
      EOtitle-loc-args
      BQsubtitle-loc-key
      ERsubtitle-loc-args
      BHloc-key
      EIloc-args
      IOaction-loc-key
      BMlaunch-image
      BLsummary-arg
      CRsummary-arg-count
      BGaction
      HFsound

      """
    case .sound:
      """
      CIcritical
      BEname
      OGvolume

      """
    case .text:
      """
      BHloc-key
      EIloc-args

      """
    }
  }

  private static var headSize: Int { 2 }

  /// The entry at `place`: a name, its type, and the place of the next entry; nil at the end.
  @inline(__always)
  private func entry(
    _ list: StaticString, at place: Int
  ) -> (name: UnsafeRawBufferPointer, type: UInt8, next: Int)? {
    guard place &+ Self.headSize < list.utf8CodeUnitCount else { return nil }
    let head = list.utf8Start + place
    let count = Int(head[1] &- 0x41)
    return (
      UnsafeRawBufferPointer(start: head + Self.headSize, count: count), head[0] &- 0x41,
      place &+ Self.headSize &+ count &+ 1
    )
  }

  /// The number of `content-available` in `aps`.
  static var wakingKey: Int { 3 }

  /// A bit for each key that only Live Activities have: `content-state` to `input-push-channel`.
  static var keysOfActivities: UInt32 { 0x1FF << 12 }

  /// The number of `sound` in an alert, where only Live Activities have it.
  static var soundOfAlert: Int { 14 }

  /// A bit for each key that a Live Activity needs for this event.
  static func needed(for event: ActivityEvent) -> UInt32 {
    let always: UInt32 = 1 << 13 | 1 << 14
    return switch event {
    // `alert`, `content-state`, `attributes-type`, `attributes`.
    case .start: always | 1 << 0 | 1 << 12 | 1 << 17 | 1 << 18
    case .update: always | 1 << 12
    case .end, .unknown: always
    }
  }

  /// The number and the type of a key. The name has no escapes.
  @_optimize(speed)
  @inline(never)
  func find(_ name: UnsafeRawBufferPointer) -> (number: Int, type: PayloadType)? {
    guard let start = name.baseAddress else { return nil }
    let list = list
    var number = 0
    var place = 0
    while let entry = entry(list, at: place) {
      if entry.name.count == name.count, let known = entry.name.baseAddress,
        known.load(as: UInt8.self) == start.load(as: UInt8.self),
        memcmp(known, start, name.count) == 0
      {
        return (number, PayloadType(rawValue: entry.type) ?? .any)
      }
      number &+= 1
      place = entry.next
    }
    return nil
  }

  /// The name of a key that exists.
  @inline(never)
  func name(_ number: Int) -> UnsafeRawBufferPointer? {
    let list = list
    var (left, place) = (number, 0)
    while let entry = entry(list, at: place) {
      if left == 0 { return entry.name }
      left &-= 1
      place = entry.next
    }
    return nil
  }

  /// The key that the author probably meant.
  @inline(never)
  func nearest(to name: borrowing KeyName) -> UnsafeRawBufferPointer? {
    var best: UnsafeRawBufferPointer?
    var least = name.count < 4 ? 2 : 3
    let list = list
    var place = 0
    while let entry = entry(list, at: place) {
      let distance = name.distance(to: entry.name)
      if distance < least {
        least = distance
        best = entry.name
      }
      place = entry.next
    }
    return best
  }
}

/// What a push does to a Live Activity.
enum ActivityEvent { case start, update, end, unknown }
