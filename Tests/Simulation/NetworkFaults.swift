/// How slow the network is and what goes wrong in it. Times in ns, chances in a thousand.
struct NetworkFaults {
  var delayMax: Int64 = 0
  var openingMax: Int64 = 0
  var failingOpens = 0
  var hangingOpens = 0
  var partialWrites = 0
  var stalls = 0
  var endlessStalls = 0
  /// Writes that have to read first.
  var renegotiations = 0
  var earlyWakes = 0
  /// The process may be put aside for so long at any call; 0: it is not.
  var lapseMax: Int64 = 0
}
