/// The `due` of an entry whose campaign is paused. No producer can set it, because it is far more than
/// a year ahead.
enum PausedTime {
  static let due: Int64 = 3_000_000_000_000_000
}
