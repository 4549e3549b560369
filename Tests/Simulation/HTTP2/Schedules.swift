/// The pauses of a session before a notification is retried, in seconds, as numbers and as the
/// options' texts.
struct Schedules {
  var retry = [1, 2, 4, 8, 16, 32]
  var serverError = [5, 10, 20, 40]
  /// Nil: the option is not given.
  var retryText: String?
  var serverErrorText: String?

  init() {}

  init(_ dice: inout Dice) {
    if dice.happens(300) { (retry, retryText) = Self.draw(&dice) }
    if dice.happens(300) { (serverError, serverErrorText) = Self.draw(&dice) }
  }

  private static func draw(_ dice: inout Dice) -> ([Int], String) {
    let maximum = dice.pick([1, 3, 30])
    var pauses: [Int] = []
    for _ in 0..<dice.within(1...16) { pauses.append(dice.within(1...maximum)) }
    return (pauses, pauses.map(String.init).joined(separator: ","))
  }

  /// The shortest pause after at least `tries` tries, and the longest after at most `tries`.
  func shortest(after tries: Int, isServerError: Bool) -> Int {
    let pauses = isServerError ? serverError : retry
    return pauses[min(tries, pauses.count - 1)...].min() ?? 1
  }

  func longest(after tries: Int, isServerError: Bool) -> Int {
    let pauses = isServerError ? serverError : retry
    return pauses[...min(tries, pauses.count - 1)].max() ?? 1
  }
}
