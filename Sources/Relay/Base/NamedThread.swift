import Foundation

extension Thread {
  /// Starts a thread that runs `work`.
  static func begin(
    _ name: String, stackBytes: Int = 1 << 19, _ work: @escaping @Sendable () -> Void
  ) {
    let thread = Thread(block: work)
    thread.name = name
    thread.stackSize = stackBytes
    thread.start()
  }
}
