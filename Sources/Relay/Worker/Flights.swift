/// Notifications from sending to outcome. The library gets a number for each, which is reused.
struct Flights {
  typealias Flight = (held: HeldEntry, position: Int)

  private var all: [Flight?] = []
  private var free: [Int] = []

  var count: Int { all.count - free.count }

  mutating func add(_ held: HeldEntry, _ position: Int) -> Int {
    guard let number = free.popLast() else {
      all.append((held, position))
      return all.count
    }
    all[number - 1] = (held, position)
    return number
  }

  mutating func take(_ number: Int) -> Flight? {
    guard all.indices.contains(number - 1) else { return nil }
    // Moved out, because a copy would cost reference counting.
    var flight: Flight?
    swap(&flight, &all[number - 1])
    if flight != nil { free.append(number) }
    return flight
  }
}
