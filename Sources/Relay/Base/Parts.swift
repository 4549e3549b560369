extension Array {
  /// The elements in parts of at most `most`.
  func parts(of most: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: most).map { self[$0...].prefix(most) }
  }
}
