/// What a connection's service will do, and when.
enum Deed {
  /// It looks at a request that has arrived, or at its head.
  case validate(Int)
  /// It sends a response's head or its rest, or ends its stream without a response.
  case answer(Int)
  case body(Int)
  case reset(Int, code: UInt32)
  /// It returns flow-control credit for what it received.
  case credit(stream: Int32, count: Int)
  case begin
  case settings
  case faultPlan
  case lastGoodbye
  case end(Ending)
}

/// The coming deeds, the earliest first: a heap.
struct Agenda {
  private struct Entry {
    var time: Int64
    var order: Int
    var deed: Deed
    func isBefore(_ other: Entry) -> Bool {
      time != other.time ? time < other.time : order < other.order
    }
  }
  private var entries: [Entry] = []
  private var order = 0

  /// When the next deed is due; `max`: never.
  private(set) var next = Int64.max

  mutating func clear() {
    entries.removeAll(keepingCapacity: true)
    next = .max
  }

  mutating func add(_ deed: Deed, at time: Int64) {
    order += 1
    entries.append(Entry(time: time, order: order, deed: deed))
    var index = entries.count - 1
    while index > 0, entries[index].isBefore(entries[(index - 1) / 2]) {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
    next = entries[0].time
  }

  mutating func take() -> Deed? {
    guard let first = entries.first else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      var index = 0
      while true {
        var least = index
        for child in (2 * index + 1)...(2 * index + 2) where child < entries.count {
          if entries[child].isBefore(entries[least]) { least = child }
        }
        if least == index { break }
        entries.swapAt(index, least)
        index = least
      }
    }
    next = entries.first?.time ?? .max
    return first.deed
  }
}
