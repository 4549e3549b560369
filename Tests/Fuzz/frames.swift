import APNS

/// Frames from a stream in pieces. The first byte chooses the limits.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrames(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = UnsafeRawBufferPointer(start: data, count: size)
  guard let first = input.first else { return 0 }
  let limits =
    switch first % 4 {
    case 0: FrameLimits()
    case 1: FrameLimits(token: 1...100, legacyPayload: 256, framedPayload: 256)
    case 2: FrameLimits(token: 32...32, legacyPayload: 1, framedPayload: 1)
    default: FrameLimits(token: 1...0xFFFF, legacyPayload: 0xFFFF, framedPayload: 0xFFFF)
    }
  var rest = UnsafeRawBufferPointer(rebasing: input[1...])
  while !rest.isEmpty {
    let whole = Answer(rest, limits)
    checkSplits(rest, limits, whole)
    guard case .frame(let frame) = whole else { break }
    require(frame.length > 0 && frame.length <= rest.count, "a frame is a piece of the stream")
    checkEncoding(UnsafeRawBufferPointer(rebasing: rest[..<frame.length]), limits)
    rest = UnsafeRawBufferPointer(rebasing: rest[frame.length...])
  }
  return 0
}

/// The decoder's result, with offsets instead of bytes, so that results from copies are comparable.
private enum Answer: Equatable {
  struct Frame: Equatable {
    var command: Command
    var token: Range<Int>
    var payload: Range<Int>
    var identifier: UInt32?
    var expiry: UInt32?
    var priority: UInt8?
    var length: Int
  }

  case incomplete
  case frame(Frame)
  case fault(WireError)

  init(_ bytes: UnsafeRawBufferPointer, _ limits: FrameLimits) {
    func place(_ piece: UnsafeRawBufferPointer) -> Range<Int> {
      guard let base = bytes.baseAddress, let start = piece.baseAddress else { return 0..<0 }
      require(
        start >= base && start - base + piece.count <= bytes.count, "a field lies within the bytes")
      return (start - base)..<(start - base + piece.count)
    }
    do throws(WireError) {
      guard let frame = try FrameDecoder.decode(bytes, limits: limits) else {
        self = .incomplete
        return
      }
      let notification = frame.notification
      require(limits.token.contains(notification.token.count), "the token is within the limits")
      require(!notification.payload.isEmpty, "the payload is not empty")
      self = .frame(
        Frame(
          command: frame.command, token: place(notification.token),
          payload: place(notification.payload), identifier: notification.identifier,
          expiry: notification.expiry, priority: notification.priority, length: frame.length))
    } catch {
      require(error.offset >= 0 && error.offset <= bytes.count, "the error is within the bytes")
      self = .fault(error)
    }
  }
}

/// Wherever the stream is split, no result comes too early and none changes with later bytes.
private func checkSplits(
  _ bytes: UnsafeRawBufferPointer, _ limits: FrameLimits, _ whole: Answer
) {
  var isKnown = false
  // Splits within a long payload are alike, so take only some.
  let step = 1 + bytes.count / 400
  for count in stride(from: 0, through: bytes.count, by: step) {
    let answer = withCopy(bytes[..<count]) { Answer($0, limits) }
    if answer == .incomplete {
      require(!isKnown, "a result does not disappear")
    } else {
      require(answer == whole, "a part has the result of the whole")
      isKnown = true
    }
  }
  guard case .frame(let frame) = whole else { return }
  require(
    withCopy(bytes[..<(frame.length - 1)]) { Answer($0, limits) } == .incomplete,
    "no frame before its last byte")
  require(
    withCopy(bytes[..<frame.length]) { Answer($0, limits) } == whole, "a frame with its last byte")
}

/// A decoded frame is encoded to the same bytes if there is only one way to write it, else to bytes
/// that decode to the same.
private func checkEncoding(_ bytes: UnsafeRawBufferPointer, _ limits: FrameLimits) {
  guard let frame = try? FrameDecoder.decode(bytes, limits: limits) else {
    fatalError("the frame was decoded before")
  }
  let encoded = encode(frame)
  require(encoded.count == bytes.count, "the size is the same")
  if frame.command != .framed {
    require(encoded.elementsEqual(bytes), "encode(decode(x)) is x")
    return
  }
  withCopy(encoded) { copy in
    guard let again = try? FrameDecoder.decode(copy, limits: limits) else {
      fatalError("does not hold: the encoder writes a frame")
    }
    let (one, other) = (frame.notification, again.notification)
    require(one.token.elementsEqual(other.token), "the same token")
    require(one.payload.elementsEqual(other.payload), "the same payload")
    require(one.identifier == other.identifier, "the same identifier")
    require(one.expiry == other.expiry, "the same expiry")
    require(one.priority == other.priority, "the same priority")
    require(encode(again) == encoded, "encode(decode(x)) is x")
  }
}

private func encode(_ frame: Frame) -> [UInt8] {
  guard let size = FrameEncoder.size(of: frame.notification, as: frame.command) else {
    fatalError("does not hold: a decoded frame can be encoded")
  }
  // Exactly the size, for the sanitizer.
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
  defer { memory.deallocate() }
  if let base = memory.baseAddress {
    FrameEncoder.encode(frame.notification, as: frame.command, size: size, into: base)
  }
  return Array(memory)
}
