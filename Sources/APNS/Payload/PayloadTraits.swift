/// The properties of a payload that matter for its push.
struct PayloadTraits {
  /// A bit for each key that `aps` has, by its number in `PayloadObject`.
  var keys: UInt32 = 0
  /// `aps` has `content-available` and nothing else.
  var onlyWakes = false
  var hasAps = false
  /// The payload is `{}`.
  var isEmpty = false
  /// It has `mdm`, by which device management calls a device.
  var hasMDM = false

  /// The user notices it: `alert`, `badge` or `sound`.
  var isShown: Bool { keys & 0b111 != 0 }

  /// It has `content-available`.
  var wakes: Bool { keys & 1 << 3 != 0 }

  /// It has what only a Live Activity has: `event`, with `content-state` or `dismissal-date`.
  var isActivity: Bool { keys & 1 << 13 != 0 && keys & (1 << 12 | 1 << 16) != 0 }

  /// It has `content-changed`, for widgets and controls.
  var changesContent: Bool { keys & 1 << 21 != 0 }
}
