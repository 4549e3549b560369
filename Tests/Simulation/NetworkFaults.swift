/// How slow the network is and what goes wrong in it. Times in ns, chances in a thousand.
struct NetworkFaults {
  var delayMax: Int64 = 0
  var openingMax: Int64 = 0
  var failingOpens = 0
  var hangingOpens = 0
  /// Connections with something to read that is no data: a session ticket.
  var tickets = 0
  var partialWrites = 0
  var stalls = 0
  var endlessStalls = 0
  /// Writes that have to read first.
  var renegotiations = 0
  var earlyWakes = 0
  /// The process may be put aside for so long at any call; 0: it is not.
  var lapseMax: Int64 = 0

  init() {}

  /// In how many runs of a thousand there are tickets, and the process is put aside at all.
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
    if dice.happens(lapsing) { lapseMax = dice.pick([1_000_000, 100_000_000, 3_000_000_000]) }
  }
}
