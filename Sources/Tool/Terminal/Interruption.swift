import Glibc
import Synchronization

/// Counts the requests to end the tool.
enum Interruption {
  private static let count = Atomic<Int>(0)

  static var times: Int { count.load(ordering: .relaxed) }

  /// Counts SIGINT and SIGTERM from here on. The third one ends the process as usual.
  static func watch() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { signal in
      if Interruption.count.add(1, ordering: .relaxed).newValue >= 2 {
        Glibc.signal(signal, SIG_DFL)
      }
    }
    // Without SA_RESTART, so that a read waiting for the list's next line ends.
    sigaction(SIGINT, &action, nil)
    sigaction(SIGTERM, &action, nil)
    signal(SIGPIPE, SIG_IGN)
  }
}
