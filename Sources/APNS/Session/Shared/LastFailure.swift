/// An optional `Failure`. `Failure` is large and `Failure?` zeroes all of it on every creation;
/// this is created once and marked empty by a flag.
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
