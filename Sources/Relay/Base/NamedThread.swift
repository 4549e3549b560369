import CProcess
import Foundation

extension Thread {
  /// Starts a thread that runs `work`.
  static func begin(
    _ name: String, stackBytes: Int = 1 << 19, _ work: @escaping @Sendable () -> Void
  ) {
    let thread = Thread {
      process_name_thread(name)
      work()
    }
    thread.stackSize = stackBytes
    thread.start()
  }
}
