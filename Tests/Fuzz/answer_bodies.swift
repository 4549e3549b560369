import CAPNS
import CSystem

@testable import APNS

/// The body of a server's response to a notification, in JSON or not.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAnswerBodies(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeRawBufferPointer(start: data, count: size))
  let answer = read(input)
  require(answer.timestamp >= 0, "time is not before 1970")
  require(answer.text.count < ReasonText.capacity, "a NUL fits after the reason")
  guard let text = String(validating: answer.text, as: UTF8.self) else {
    require(false, "a reason is UTF-8")
    return 0
  }
  require(
    text.unicodeScalars.allSatisfy {
      switch $0.value {
      case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF:
        false
      default: true
      }
    },
    "a reason is one line")
  require(
    answer.reason == 255 || answer.text.elementsEqual(name(answer.reason)),
    "a listed reason has its own text")
  require(answer.reason != 0, "there is always a reason")

  // White space around the body has no effect; an incomplete body is ignored.
  require(read([0x20] + input + [0x0A]) == answer, "white space has no effect")
  if answer.isAny, let end = input.lastIndex(where: { $0 == 0x7D }) {
    require(!read(Array(input[..<end])).isAny, "an incomplete body is ignored")
  }

  // Writing and reading the result again gives the same.
  let quoted = answer.text.flatMap { $0 == 0x22 || $0 == 0x5C ? [0x5C, $0] : [$0] }
  let again =
    Array("{\"timestamp\":\(answer.timestamp),\"reason\":\"".utf8) + quoted + Array("\"}".utf8)
  require(read(again) == answer, "read(write(x)) is x")

  // Appended whole or in two buffers, as from the wire: the same amount is kept.
  var (whole, pieces) = (ResponseText(), ResponseText())
  input.withUnsafeBytes { whole.append($0) }
  let middle = input.count / 2
  input.withUnsafeBytes {
    pieces.append(UnsafeRawBufferPointer(rebasing: $0[..<middle]))
    pieces.append(UnsafeRawBufferPointer(rebasing: $0[middle...]))
  }

  // The kept bytes have the result of the body's beginning.
  let judged = read(Array(input.prefix(ResponseText.maximum)))
  require(whole.reason().number == judged.reason, "the kept bytes have the same reason")
  require(bytes(of: &whole) == judged.text, "the same text")
  require(whole.goneSince == judged.timestamp, "the same time")
  require(pieces.reason().number == judged.reason, "pieces have the same reason")
  require(bytes(of: &pieces) == judged.text, "pieces have the same text")
  return 0
}

private func bytes(of text: inout ResponseText) -> [UInt8] {
  withUnsafeMutablePointer(to: &text) { Array($0.text) }
}

private struct Answer: Equatable {
  var reason: UInt8
  var text: [UInt8]
  var timestamp: Int64
  var isAny: Bool { !text.isEmpty || timestamp > 0 }
}

private func read(_ input: [UInt8]) -> Answer {
  withCopy(input) { bytes in
    let answer = ResponseBody(bytes)
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: ReasonText.capacity, alignment: 1)
    defer { memory.deallocate() }
    answer.text.copy(to: memory)
    return Answer(
      reason: answer.reason.number, text: Array(memory.prefix { $0 != 0 }),
      timestamp: answer.timestamp)
  }
}

private func name(_ number: UInt8) -> [UInt8] {
  guard let text = CAPNS.apns_reason_text(apns_reason_t(rawValue: UInt32(number))) else {
    return []
  }
  return Array(UnsafeBufferPointer(start: text, count: strlen(text))).map { UInt8(bitPattern: $0) }
}
