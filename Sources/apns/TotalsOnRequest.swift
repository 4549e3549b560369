import Dispatch
import Glibc

/// Does something whenever SIGUSR1 comes.
struct TotalsOnRequest {
  private let source: any DispatchSourceSignal

  init(_ print: @escaping @Sendable () -> Void) {
    signal(SIGUSR1, SIG_IGN)
    source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: DispatchQueue(label: "totals"))
    source.setEventHandler(handler: print)
    source.activate()
  }

  func cancel() { source.cancel() }
}
