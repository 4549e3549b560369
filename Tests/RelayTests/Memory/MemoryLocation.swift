@testable import Relay

/// A queue in memory, as a relay.yaml would name it: `queue: { memory: name }`.
struct MemoryLocation: QueueLocation {
  static let engine = "memory"
  static let key = "memory"
  static let options: [RelayOption<Self>] = [
    .text("memory", \.label, "the name of a queue in this process")
  ]

  var label: String?

  init() {}
  init(_ text: String) { label = String(text.dropFirst("memory:".count)) }
  static func isOne(_ text: String) -> Bool { text.hasPrefix("memory:") }
  var isNamed: Bool { label != nil }
  var name: String { "memory:\(label ?? "")" }
  func open(_: QueueSync) -> any QueueEngine { MemoryQueue() }
}

/// Each `open` is the same queue, as that of another process would be.
struct MemoryPlace: QueuePlace {
  private let queue = MemoryQueue()

  func open() -> any QueueEngine { queue }
  func ends() -> [String] { queue.ends }
  func history(of id: String) -> String { queue.history(of: id) }
  func laneOfTheDead() -> String? { queue.laneOfTheDead }
  func gone() -> [String] { queue.gone }
}
