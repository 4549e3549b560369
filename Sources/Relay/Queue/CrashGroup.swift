/// Which entries are tried together after crashes. Whatever a worker had when it died is suspected of
/// it; only who was alone is to blame. So those that were there twice are tried in smaller groups, with
/// nothing beside them, and an innocent one gets its answer before it is counted out.
enum CrashGroup {
  /// From so many crashes in company on, an entry is tried apart from others.
  static let apart = 2

  /// How long one waits, in milliseconds, that was alone in so many crashes: an innocent one among many
  /// crashes in a row is not there for all of them.
  static func pauseMS(alone crashes: Int) -> Int64 {
    switch crashes {
    case ...2: 0
    case 3: 4000
    default: 8000
    }
  }

  /// How many are tried together that were in so many crashes in company.
  static func most(after crashes: Int) -> Int {
    switch crashes {
    case ..<apart: .max
    case 2: 100
    case 3: 10
    default: 1
    }
  }
}

/// When an entry comes again that waits because the service was in trouble (5xx) and did not say for how
/// long. Such a time ends in 999 ms, and no other one does: it is brought back when the service is well.
enum ParkedTime {
  static func of(_ time: Int64, isGuess: Bool) -> Int64 {
    let isMarked = time % 1000 == 999
    if isGuess { return time - time % 1000 + 999 }
    return isMarked ? time + 1 : time
  }
}
