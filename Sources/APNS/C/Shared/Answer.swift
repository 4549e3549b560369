import CAPNS
import CSystem

/// Calls `body` and turns a failure into the status and the caller's error.
@inline(__always)
func answer(
  _ error: UnsafeMutablePointer<apns_error_t>?, _ body: () throws(Failure) -> Void
) -> apns_status_t {
  do throws(Failure) {
    try body()
    return APNS_OK
  } catch let failure {
    failure.report(to: usable(error))
    return failure.status
  }
}

func isNull(_ name: StaticString, reject: apns_reject_t = APNS_REJECT_NONE) -> Failure {
  Failure(APNS_ERR_ARGUMENT, reject: reject) {
    $0.append(name)
    $0.append(" is NULL")
  }
}

/// Allocates an object for the caller to hold.
func place<T: ~Copyable>(
  _ make: () throws(Failure) -> T
) throws(Failure) -> UnsafeMutablePointer<T> {
  // malloc aligns for all our types, and unlike Swift's own allocation it may fail without ending
  // the program.
  guard let memory = malloc(MemoryLayout<T>.size) else { throw .outOfMemory }
  let pointer = memory.bindMemory(to: T.self, capacity: 1)
  do throws(Failure) {
    pointer.initialize(to: try make())
  } catch {
    free(memory)
    throw error
  }
  return pointer
}

/// Ends an object that `place` made.
func discard<T: ~Copyable>(_ pointer: UnsafeMutablePointer<T>) {
  pointer.deinitialize(count: 1)
  free(pointer)
}
