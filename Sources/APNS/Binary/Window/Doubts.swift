/// Counts how often each notification was in flight on a connection that ended without an error
/// packet, and limits because of that how many may be in flight together.
///
/// The notifications in flight are always the oldest of a window, so the counts never grow from one
/// position to the next, and four positions describe them all. A notification that has been in
/// flight in this way five times is not resent.
struct Doubts {
  /// The positions up to which the count is at least 1, 2, 3 and 4.
  private var once = 0
  private var twice = 0
  private var thrice = 0
  private var fourTimes = 0
  /// At least the fourth root of the number in flight when the first doubt arose.
  private var root = Self.leastRoot

  private static var leastRoot: Int { 4 }

  /// The position up to which there is any doubt.
  var end: Int { once }

  func count(at position: Int) -> Int {
    if position >= once { return 0 }
    if position >= twice { return 1 }
    if position >= thrice { return 2 }
    return position < fourTimes ? 4 : 3
  }

  /// All of `first ..< written` was in flight. Returns the position up to which this was
  /// the fifth time.
  mutating func add(from first: Int, to written: Int) -> Int {
    if once <= first { root = Self.leastRoot }
    while root &* root &* root &* root < written &- first { root &+= 1 }
    let fifth = min(fourTimes, written)
    fourTimes = max(fourTimes, min(thrice, written))
    thrice = max(thrice, min(twice, written))
    twice = max(twice, min(once, written))
    once = max(once, written)
    return fifth
  }

  /// The notification at `position` is taken out, and later ones move up.
  mutating func remove(_ position: Int) {
    if once > position { once &-= 1 }
    if twice > position { twice &-= 1 }
    if thrice > position { thrice &-= 1 }
    if fourTimes > position { fourTimes &-= 1 }
  }

  /// The most that may be in flight while the oldest is at `position`. It shrinks each
  /// time, so that a notification that ends its connection is alone the fifth time.
  func flight(at position: Int) -> Int {
    switch count(at: position) {
    case 0: .max
    case 1: root &* root &* root
    case 2: root &* root
    case 3: root
    default: 1
    }
  }
}
