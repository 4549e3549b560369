import Dispatch

/// Calls a function for each signal until it is cancelled.
struct SignalWatch {
  private let source: any DispatchSourceSignal

  /// libdispatch takes over a signal on another thread, some time after the call. This waits for
  /// that, because an earlier signal would end the process or, if ignored, be lost.
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
