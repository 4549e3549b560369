import Testing

@Suite struct VectorsTests {
  @Test func aThirdIsMalformed() throws {
    let all: [any Vector] =
      try Vectors.frames() + Vectors.errorPackets() + Vectors.feedback() + Vectors.tokens()
    #expect(all.count >= 100)
    #expect(all.count(where: { $0.result == .invalid }) * 3 >= all.count)
  }

  @Test func eachSaysWhatIsExpected() throws {
    for vector in try Vectors.frames() {
      #expect((vector.frame != nil) == (vector.result == .valid), "\(vector.name)")
      #expect((vector.canonical != nil) == (vector.result == .valid), "\(vector.name)")
      #expect((vector.error != nil) == (vector.result == .invalid), "\(vector.name)")
    }
    for vector in try Vectors.errorPackets() {
      #expect((vector.packet != nil) == (vector.result == .valid), "\(vector.name)")
      #expect((vector.error != nil) == (vector.result == .invalid), "\(vector.name)")
    }
    for vector in try Vectors.feedback() {
      #expect((vector.rest != nil) == (vector.result == .incomplete), "\(vector.name)")
      #expect((vector.error != nil) == (vector.result == .invalid), "\(vector.name)")
    }
    for vector in try Vectors.tokens() {
      #expect((vector.token != nil) == (vector.result == .valid), "\(vector.name)")
      #expect((vector.error != nil) == (vector.result == .invalid), "\(vector.name)")
    }
    for vector in try Vectors.json() {
      #expect((vector.compact != nil) == (vector.result == .valid), "\(vector.name)")
    }
  }
}
