/// How often each notification was in flight on a connection that ended without a word, and
/// how much may be in flight together because of that.
///
/// In flight are always the oldest of a window, so the counts never grow from one position
/// to the next: four positions say all of them. One that has been in flight five times so is
/// not sent again.
struct Doubts {
  /// Up to which position the count is 1 and more, 2, 3 and 4.
  private var once = 0
  private var twice = 0
  private var thrice = 0
  private var fourTimes = 0
  /// The fourth root of what was in flight when the first doubt arose.
  private var root = Self.leastRoot

  private static var leastRoot: Int { 4 }

  /// Up to which position there is any doubt.
  var end: Int { once }

  func count(at position: Int) -> Int {
    if position >= once { return 0 }
    if position >= twice { return 1 }
    if position >= thrice { return 2 }
    return position < fourTimes ? 4 : 3
  }

  /// All of `first ..< written` was in flight. Up to where that was the fifth time.
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

  /// How many are in flight at most while the oldest of them is at `position`, so that after
  /// five ends without a word the one that brings them about was the last time by itself.
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
