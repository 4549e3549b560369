import Dispatch
import Glibc
import Logging
import NIOConcurrencyHelpers

/// A file of lines, written in the background so that no event loop waits for a disk.
package final class RecordFile: Sendable {
  private struct State {
    var waiting: [UInt8] = []
    var isScheduled = false
    var failure: ListError?
  }

  private let path: String
  private let descriptor: CInt
  private let logger: Logger
  private let writer = DispatchQueue(label: "record")
  private let state = NIOLockedValueBox(State())

  /// Opens the file and empties it.
  package init(path: String, logger: Logger) throws {
    descriptor = try PrivateFile.open(path, O_WRONLY | O_APPEND)
    // Without O_TRUNC, because only now the owner is known. A pipe has no length.
    guard ftruncate(descriptor, 0) == 0 || errno == EINVAL else {
      let failure = ListError.system(path)
      Glibc.close(descriptor)
      throw failure
    }
    self.path = path
    self.logger = logger
  }

  deinit { Glibc.close(descriptor) }

  func append(_ lines: [UInt8]) {
    let mustSchedule = state.withLockedValue { state in
      state.waiting += lines
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustSchedule { writer.async { self.writeOut() } }
  }

  /// The reason why appended lines are missing from the file; nil if the file is complete.
  package var failure: ListError? {
    state.withLockedValue { $0.failure }.map {
      ListError(path: path, message: "\($0.message); later notifications are not recorded")
    }
  }

  /// Returns once all appended lines are in the file.
  package func flush() { writer.sync { writeOut() } }

  private func writeOut() {
    let lines = state.withLockedValue { state in
      state.isScheduled = false
      defer { state.waiting = [] }
      return state.failure == nil ? state.waiting : []
    }
    var written = 0
    lines.withUnsafeBytes { bytes in
      while written < bytes.count {
        let count = write(descriptor, bytes.baseAddress! + written, bytes.count - written)
        if count >= 0 {
          written += count
        } else if errno != EINTR {
          let failure = ListError.system(path)
          logger.error("\(failure); recording stopped")
          state.withLockedValue { $0.failure = failure }
          return
        }
      }
    }
  }
}
