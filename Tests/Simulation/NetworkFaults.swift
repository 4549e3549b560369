/// How slow the network is and what goes wrong in it. Times are in ns, chances in a thousand.
struct NetworkFaults {
  var delayMax: Int64 = 0
  var openingMax: Int64 = 0
  var failingOpens = 0
  var hangingOpens = 0
  /// Connections whose first addresses do not answer.
  var deadAddresses = 0
  /// Connections that have something to read that is not data: a session ticket.
  var tickets = 0
  var partialWrites = 0
  var stalls = 0
  var endlessStalls = 0
  /// Writes that cannot continue before a read.
  var renegotiations = 0
  var earlyWakes = 0
  /// The process may be suspended for up to this long at any call; 0: never.
  var lapseMax: Int64 = 0

  init() {}

  /// In a thousand runs, `ticketed` have tickets and `lapsing` suspend the process.
  init(_ dice: inout Dice, ticketed: Int, lapsing: Int) {
    delayMax = dice.pick([100_000, 5_000_000, 50_000_000, 500_000_000])
    openingMax = dice.pick([1_000_000, 50_000_000, 2_000_000_000, 12_000_000_000])
    if dice.happens(ticketed) { tickets = 500 }
    if dice.happens(300) { earlyWakes = 100 }
    if dice.happens(300) { partialWrites = dice.pick([50, 500]) }
    if dice.happens(300) { stalls = dice.pick([100, 500]) }
    if dice.happens(100) { endlessStalls = dice.pick([10, 100]) }
    if dice.happens(50) { renegotiations = 50 }
    if dice.happens(200) { failingOpens = dice.pick([20, 100, 600]) }
    if dice.happens(100) { hangingOpens = dice.pick([20, 200]) }
    if dice.happens(100) { deadAddresses = dice.pick([100, 1000]) }
    if dice.happens(lapsing) { lapseMax = dice.pick([1_000_000, 100_000_000, 3_000_000_000]) }
  }
}
