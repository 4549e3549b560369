import APNS

/// The feedback list in pieces, as from a connection.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFeedback(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeRawBufferPointer(start: data, count: size))
  let whole = read([input[...]])
  let step = 1 + input.count / 300
  for split in stride(from: 0, through: input.count, by: step) {
    require(read([input[..<split], input[split...]]) == whole, "pieces give the same result")
  }
  if input.count <= 300 {
    require(
      read(input.indices.map { input[$0...$0] }) == whole, "single bytes give the same result")
  }

  // Encoding gives the bytes that were read.
  var place = 0
  for tuple in whole.tuples {
    let size = FeedbackTuple.headerSize + tuple.token.count
    require(!tuple.token.isEmpty, "a tuple has a token")
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    defer { memory.deallocate() }
    withCopy(tuple.token) { token in
      let tuple = FeedbackTuple(timestamp: tuple.timestamp, token: token)
      require(tuple.size == size, "the size is computed correctly")
      if let base = memory.baseAddress { tuple.encode(into: base) }
    }
    require(memory.elementsEqual(input[place..<place + size]), "encode(decode(x)) is x")
    place += size
  }
  if whole.fault == nil {
    require(place + whole.left == input.count, "every byte is in a tuple or pending")
    require(whole.left < FeedbackTuple.maxSize, "less than a tuple is pending")
  }
  return 0
}

private struct Tuple: Equatable {
  var timestamp: UInt32
  var token: [UInt8]
}

private struct Outcome: Equatable {
  var tuples: [Tuple] = []
  var fault: WireError?
  var left = 0
}

private func read(_ pieces: [ArraySlice<UInt8>]) -> Outcome {
  var outcome = Outcome()
  var waiting: [UInt8] = []
  for piece in pieces where outcome.fault == nil {
    waiting += piece
    var start = 0
    withCopy(waiting) { bytes in
      do throws(WireError) {
        while let tuple = try FeedbackTuple.decode(
          UnsafeRawBufferPointer(rebasing: bytes[start...]))
        {
          outcome.tuples.append(Tuple(timestamp: tuple.timestamp, token: Array(tuple.token)))
          guard let size = tuple.size else {
            fatalError("does not hold: a received tuple has a size")
          }
          start += size
        }
      } catch {
        outcome.fault = error
      }
    }
    waiting.removeFirst(start)
  }
  outcome.left = outcome.fault == nil ? waiting.count : 0
  return outcome
}
