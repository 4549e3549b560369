/// Ends the program if the condition is false, with its meaning.
func require(
  _ condition: @autoclosure () -> Bool, _ meaning: StaticString, file: StaticString = #fileID,
  line: UInt = #line
) {
  if !condition() { fatalError("does not hold: \(meaning)", file: file, line: line) }
}

/// Bytes in memory of exactly their size, so that the sanitizer detects a read beyond them.
func withCopy<Result>(
  _ bytes: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) -> Result
) -> Result {
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
  defer { memory.deallocate() }
  memory.copyBytes(from: bytes)
  return body(UnsafeRawBufferPointer(memory))
}
