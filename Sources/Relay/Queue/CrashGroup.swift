/// Decides which entries are tried together after crashes. All entries that a worker held in a
/// crash are suspects, and an entry is to blame only if it was held alone. Entries that were in two
/// or more crashes together with others are therefore tried in smaller groups, apart from the rest,
/// so that an innocent one gets its response before its deliveries run out.
enum CrashGroup {
  /// The number of shared crashes from which an entry is tried apart from others.
  static let apart = 2

  /// The pause in milliseconds after an entry was alone in this many crashes, so that an innocent
  /// one is not present in every crash of a series.
  static func pauseMS(alone crashes: Int) -> Int64 {
    switch crashes {
    case ...2: 0
    case 3: 4000
    default: 8000
    }
  }

  /// The size of the group in which entries with this many shared crashes are tried.
  static func most(after crashes: Int) -> Int {
    switch crashes {
    case ..<apart: .max
    case 2: 100
    case 3: 10
    default: 1
    }
  }
}
