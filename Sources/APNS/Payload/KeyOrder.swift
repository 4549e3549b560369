/// The keys that are set, in the order in which they were first set.
struct KeyOrder {
  private var keys = InlineArray<35, PayloadKey>(repeating: .alert)
  private(set) var count = 0

  subscript(_ index: Int) -> PayloadKey { keys[index] }

  mutating func append(_ key: PayloadKey) {
    // There is room for every key, and each key is in it at most once.
    guard count < keys.count else { return }
    keys[count] = key
    count &+= 1
  }

  mutating func remove(_ key: PayloadKey) {
    var kept = 0
    for index in 0..<count where keys[index] != key {
      keys[kept] = keys[index]
      kept &+= 1
    }
    count = kept
  }

  mutating func removeAll() { count = 0 }
}
