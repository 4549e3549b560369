import Foundation

/// What the queue says, asked once at a time however many want to know it. Nobody waits longer than for
/// a little: a queue that is held up has no threads of ours but one.
final class SharedAnswer<Value>: @unchecked Sendable {
  private static var patience: TimeInterval { 4 }

  private let ask: @Sendable () -> Value
  private let worker = StatusWorkers(1)
  private let change = NSCondition()
  // Guarded by `change`.
  private var began: Int64?
  private var count = 0
  private var last: Value?

  init(_ ask: @escaping @Sendable () -> Value) { self.ask = ask }

  /// Its answer; or for how many milliseconds there has been none.
  func get() -> (answer: Value?, silentMS: Int64) {
    let limit = Date(timeIntervalSinceNow: Self.patience)
    change.lock()
    defer { change.unlock() }
    if began == nil {
      began = RelayClock.steady
      worker.add { [self] in
        let said = ask()
        change.lock()
        last = said
        count += 1
        began = nil
        change.broadcast()
        change.unlock()
      }
    }
    let asked = count
    while count == asked {
      guard change.wait(until: limit) else { break }
    }
    if count > asked { return (last, 0) }
    return (nil, began.map { RelayClock.steady - $0 } ?? 0)
  }
}
