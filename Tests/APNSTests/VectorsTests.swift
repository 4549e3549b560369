import Testing

@Suite struct VectorsTests {
  @Test func aThirdIsMalformed() throws {
    let all: [any Vector] =
      try Vectors.frames() + Vectors.errorPackets() + Vectors.feedback() + Vectors.tokens()
    #expect(all.count >= 100)
    #expect(all.count(where: { $0.result == .invalid }) * 3 >= all.count)
  }

  @Test func eachSaysWhatIsExpected() throws {
    /// A part of each vector is there if that is the result.
    func check<One: Vector>(_ vectors: [One], _ result: Decision, has part: (One) -> Any?) {
      for vector in vectors {
        #expect((part(vector) != nil) == (vector.result == result), "\(vector.name)")
      }
    }
    check(try Vectors.frames(), .valid) { $0.frame }
    check(try Vectors.frames(), .valid) { $0.canonical }
    check(try Vectors.frames(), .invalid) { $0.error }
    check(try Vectors.errorPackets(), .valid) { $0.packet }
    check(try Vectors.errorPackets(), .invalid) { $0.error }
    check(try Vectors.feedback(), .incomplete) { $0.rest }
    check(try Vectors.feedback(), .invalid) { $0.error }
    check(try Vectors.tokens(), .valid) { $0.token }
    check(try Vectors.tokens(), .invalid) { $0.error }
    check(try Vectors.json(), .valid) { $0.compact }
  }
}
