import Dispatch

/// Does something whenever a signal comes, from when it is made until it is cancelled.
struct SignalWatch {
  private let source: any DispatchSourceSignal

  /// libdispatch takes a signal over on a thread of its own, some time after it was told to.
  /// Waited for, because one that came before would end the process or, ignored, be lost.
  init(_ number: CInt, on queue: DispatchQueue, _ act: @escaping @Sendable () -> Void) {
    let isTaken = DispatchSemaphore(value: 0)
    source = DispatchSource.makeSignalSource(signal: number, queue: queue)
    source.setEventHandler(handler: act)
    source.setRegistrationHandler { isTaken.signal() }
    source.activate()
    isTaken.wait()
  }

  func cancel() { source.cancel() }
}
