/// A failure that may be there. It is large, and an empty optional of it is zeroed as a whole each
/// time one is made; this is made once and says by a flag that it is empty.
struct LastFailure {
  private var kept: Failure?
  private(set) var isThere = false

  var failure: Failure? {
    @inline(never) get { isThere ? kept : nil }
  }

  @inline(never)
  mutating func note(_ failure: Failure) {
    kept = failure
    isThere = true
  }

  @inline(__always)
  mutating func forget() { isThere = false }
}
