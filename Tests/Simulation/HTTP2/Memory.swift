import Glibc

/// Counts for each thread what the core has taken from malloc and not given back. The
/// linker redirects the program's own calls to here (--wrap in `compile`). Memory that
/// Swift's runtime and nghttp2 take for themselves is not counted.
enum Memory {
  /// No key yet; earlier calls are not counted.
  nonisolated(unsafe) fileprivate static var key = pthread_key_t.max

  /// Call this once, before the threads start.
  static func prepare() {
    var made = pthread_key_t()
    precondition(pthread_key_create(&made, nil) == 0)
    key = made
  }

  /// From here on the thread's calls are counted in `counter`.
  static func count(in counter: UnsafeMutablePointer<Int>) { pthread_setspecific(key, counter) }

  @inline(__always)
  fileprivate static func add(_ change: Int) {
    guard key != .max, let counter = pthread_getspecific(key) else { return }
    counter.assumingMemoryBound(to: Int.self).pointee += change
  }
}

@_silgen_name("__real_malloc") private func realMalloc(_ size: Int) -> UnsafeMutableRawPointer?
@_silgen_name("__real_calloc") private func realCalloc(
  _ count: Int, _ size: Int
) -> UnsafeMutableRawPointer?
@_silgen_name("__real_realloc") private func realRealloc(
  _ memory: UnsafeMutableRawPointer?, _ size: Int
) -> UnsafeMutableRawPointer?
@_silgen_name("__real_free") private func realFree(_ memory: UnsafeMutableRawPointer?)
@_silgen_name("__real_strdup") private func realStrdup(
  _ text: UnsafePointer<CChar>
) -> UnsafeMutablePointer<CChar>?

@_cdecl("__wrap_malloc") public func countedMalloc(_ size: Int) -> UnsafeMutableRawPointer? {
  Memory.add(1)
  return realMalloc(size)
}

@_cdecl("__wrap_calloc")
public func countedCalloc(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
  Memory.add(1)
  return realCalloc(count, size)
}

@_cdecl("__wrap_realloc")
public func countedRealloc(
  _ memory: UnsafeMutableRawPointer?, _ size: Int
) -> UnsafeMutableRawPointer? {
  if memory == nil { Memory.add(1) }
  return realRealloc(memory, size)
}

@_cdecl("__wrap_free") public func countedFree(_ memory: UnsafeMutableRawPointer?) {
  if memory != nil { Memory.add(-1) }
  realFree(memory)
}

@_cdecl("__wrap_strdup")
public func countedStrdup(_ text: UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>? {
  Memory.add(1)
  return realStrdup(text)
}
