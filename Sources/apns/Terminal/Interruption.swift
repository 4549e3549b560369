import Glibc
import Synchronization

/// How often the person, or whoever started the tool, has asked it to end.
enum Interruption {
  private static let count = Atomic<Int>(0)

  static var times: Int { count.load(ordering: .relaxed) }

  /// From here on SIGINT and SIGTERM are counted; the third ends the process as ever.
  static func watch() {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { signal in
      if Interruption.count.add(1, ordering: .relaxed).newValue >= 2 {
        Glibc.signal(signal, SIG_DFL)
      }
    }
    // Without SA_RESTART: a read that waits for the list's next line is to end.
    sigaction(SIGINT, &action, nil)
    sigaction(SIGTERM, &action, nil)
    signal(SIGPIPE, SIG_IGN)
  }
}
