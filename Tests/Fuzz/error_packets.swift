import APNS

/// Error packets from a stream, split into three in every way.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzErrorPackets(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeRawBufferPointer(start: data, count: min(size, 20)))
  let whole = read([input[...]])
  for first in 0...input.count {
    for second in first...input.count {
      require(
        read([input[..<first], input[first..<second], input[second...]]) == whole,
        "pieces give the same result")
    }
  }
  require(read(input.indices.map { input[$0...$0] }) == whole, "single bytes give the same result")

  // Encoding gives the bytes that were read.
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
  case nil: require(taken + whole.left == input.count, "every byte is in a packet or pending")
  case .some(let fault):
    require(fault == WireError(.unknownCommand, at: 0), "the only error is an unknown command")
    require(input[taken] != ErrorPacket.command, "the command is unknown")
  }
  return 0
}

private struct Outcome: Equatable {
  var packets: [ErrorPacket] = []
  var fault: WireError?
  /// Bytes of an incomplete packet.
  var left = 0
}

private func read(_ pieces: [ArraySlice<UInt8>]) -> Outcome {
  var outcome = Outcome()
  var reader = ErrorPacketReader()
  for piece in pieces {
    var piece = piece
    // After a complete packet, continue with the rest of the piece.
    while !piece.isEmpty, outcome.fault == nil {
      let before = reader.count
      require(before < ErrorPacket.size, "a complete packet is not kept")
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
