import CSystem

/// The known keys of one of Apple's objects.
enum PayloadObject {
  case aps, alert, sound

  /// The names, one per line. Before each stand a letter for its type (`PayloadType` from A
  /// on) and a letter for its length (B is 1), so that names of another length are skipped.
  /// The keys of Live Activities and widgets are listed so that they cause no warning.
  private var list: StaticString {
    switch self {
    case .aps:
      """
      GFalert
      CFbadge
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
      ANcontent-state
      AFevent
      AJtimestamp
      AKstale-date
      AOdismissal-date
      APattributes-type
      AKattributes
      AQinput-push-token
      ASinput-push-channel
      APcontent-changed

      """
    case .alert:
      """
      BFtitle
      BIsubtitle
      BEbody
      BNtitle-loc-key
      EOtitle-loc-args
      BQsubtitle-loc-key
      ERsubtitle-loc-args
      BHloc-key
      EIloc-args
      IOaction-loc-key
      BMlaunch-image
      ALsummary-arg
      ARsummary-arg-count

      """
    case .sound:
      """
      CIcritical
      BEname
      DGvolume

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
  static var wakingKey: UInt32 { 3 }

  /// A bit each for `content-state` and `event`, which only Live Activities have.
  static var keysOfActivities: UInt32 { 1 << 12 | 1 << 13 }

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
