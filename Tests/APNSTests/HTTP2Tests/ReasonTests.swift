import Testing

@testable import APNS

@Suite struct ReasonTests {
  private func reason(_ text: String) -> Reason {
    var text = text
    return text.withUTF8 { Reason(text: UnsafeRawBufferPointer($0)) }
  }

  private func text(_ reason: Reason) -> String? {
    reason.text.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: try! Vectors.reasons())
  func everyReason(_ vector: ReasonVector) {
    let reason = Reason(vector.number)
    #expect(UInt32(reason.number) == vector.number)
    #expect(self.reason(vector.name) == reason)
    #expect(text(reason) == vector.name)
    #expect(reason.status == vector.status)
    #expect(reason.reject == vector.reject)
    // The status of the response makes no difference.
    for status in [0, 200, 400, 410, 429, 503] {
      #expect("\(reason.remedy(httpStatus: status))" == vector.remedy)
    }
  }

  @Test func unlistedReasonsDependOnTheStatus() {
    for status in [400, 401, 403, 404, 405, 410, 413, 421] {
      #expect(Reason.other.remedy(httpStatus: status) == .reject)
    }
    for status in [429, 500, 502, 503, 599] {
      #expect(Reason.other.remedy(httpStatus: status) == .wait)
    }
  }

  @Test(arguments: try! Vectors.answerBodies())
  func everyBody(_ vector: AnswerBodyVector) {
    // The memory has exactly that size, so that a sanitizer sees a read beyond it.
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: vector.hex.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: vector.hex)
    let body = ResponseBody(UnsafeRawBufferPointer(memory))
    #expect((text(body.reason) ?? "other") == vector.reason)
    #expect(body.timestamp == vector.timestamp)
    #expect(body.text.count == vector.text.utf8.count)
    withUnsafeTemporaryAllocation(byteCount: ReasonText.capacity, alignment: 1) { target in
      body.text.copy(to: target)
      #expect(String(decoding: target[..<body.text.count], as: UTF8.self) == vector.text)
      #expect(target[body.text.count] == 0)
    }
    // With less room the text is cut and ends in NUL.
    withUnsafeTemporaryAllocation(byteCount: 4, alignment: 1) { target in
      body.text.copy(to: target)
      #expect(target[min(3, body.text.count)] == 0)
    }
  }

  /// Every prefix of a body, and every body with one byte changed: nothing traps, and no reason is
  /// invented.
  @Test func mutations() throws {
    var random = SplitMix64(seed: 7)
    for vector in try Vectors.answerBodies() where vector.hex.count < 200 {
      for end in 0..<vector.hex.count {
        vector.hex[..<end].withUnsafeBytes { _ = ResponseBody($0) }
        var changed = vector.hex
        changed[end] = UInt8(truncatingIfNeeded: random.next())
        changed.withUnsafeBytes {
          let body = ResponseBody($0)
          #expect(body.text.count < ReasonText.capacity)
          #expect(body.timestamp >= 0)
        }
      }
    }
  }
}
