import APNS

/// Error packets off a stream, in all ways to split it into three.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzErrorPackets(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeRawBufferPointer(start: data, count: min(size, 20)))
  let whole = read([input[...]])
  for first in 0...input.count {
    for second in first...input.count {
      require(
        read([input[..<first], input[first..<second], input[second...]]) == whole,
        "in pieces it is the same")
    }
  }
  require(read(input.indices.map { input[$0...$0] }) == whole, "byte by byte it is the same")

  // What was read is what is written.
  for (index, packet) in whole.packets.enumerated() {
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: ErrorPacket.size, alignment: 1)
    defer { memory.deallocate() }
    if let base = memory.baseAddress { packet.encode(into: base) }
    let start = index * ErrorPacket.size
    require(memory.elementsEqual(input[start..<start + ErrorPacket.size]), "encode(decode(x)) is x")
  }
  let taken = whole.packets.count * ErrorPacket.size
  switch whole.fault {
  case nil: require(taken + whole.left == input.count, "every byte is in a packet, or waits")
  case .some(let fault):
    require(fault == WireError(.unknownCommand, at: 0), "there is one way to be wrong")
    require(input[taken] != ErrorPacket.command, "and it is")
  }
  return 0
}

private struct Outcome: Equatable {
  var packets: [ErrorPacket] = []
  var fault: WireError?
  /// Bytes of a packet that is not whole.
  var left = 0
}

private func read(_ pieces: [ArraySlice<UInt8>]) -> Outcome {
  var outcome = Outcome()
  var reader = ErrorPacketReader()
  for piece in pieces {
    var piece = piece
    // One that ends with its packet has more packets behind it.
    while !piece.isEmpty, outcome.fault == nil {
      let before = reader.count
      require(before < ErrorPacket.size, "a packet is not kept")
      do throws(WireError) {
        let packet = try withCopy(piece) { bytes in
          Result { () throws(WireError) in try reader.read(bytes) }
        }.get()
        guard let packet else {
          require(reader.count == before + piece.count, "every byte is counted")
          break
        }
        outcome.packets.append(packet)
        piece = piece.dropFirst(ErrorPacket.size - before)
      } catch {
        outcome.fault = error
      }
    }
  }
  outcome.left = outcome.fault == nil ? reader.count : 0
  return outcome
}
