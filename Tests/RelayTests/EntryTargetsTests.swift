import Testing

@testable import Relay

@Suite struct EntryTargetsTests {
  private func sent(_ tokens: String, _ payload: String) throws -> [String] {
    let targets = try EntryTargets(NewEntry(app: "a", id: "i", tokens: tokens, payload: payload))
    var space: [UInt8] = []
    var tokens: [Int: String] = [:]
    defer {
      for (position, token) in tokens { #expect(targets.token(at: position).text == token) }
    }
    return (0..<targets.count).map { position in
      do {
        let (token, payload) = try targets.withPush(at: position, &space) {
          (String(decoding: $0, as: UTF8.self), String(decoding: $1, as: UTF8.self))
        }
        tokens[position] = token
        return "\(position) \(token) \(payload)"
      } catch {
        return "\(error)"
      }
    }
  }

  @Test func valuesAreFilledIn() throws {
    #expect(
      try sent(
        #"["00", {"token":"01","name":"Zo\u00eb \"Z\"","n":7}]"#, #"{"a":"Hi {{name}}!","n":{{n}}}"#
      ) == ["{{name}} is missing", #"1 01 {"a":"Hi Zo\u00eb \"Z\"!","n":7}"#])
    #expect(
      try sent(#"[{"token":"01","x":{"y":[1,"]"]}}]"#, #"{"x":{{x}},"s":"\"{{"}"#) == [
        #"0 01 {"x":{"y":[1,"]"]},"s":"\"{{"}"#
      ])
    #expect(
      try sent(#"[{"token":"01","x":[1]}]"#, #"{"x":"{{x}}"}"#) == [
        "{{x}} is within a string: it must be text, a number, true or false"
      ])
  }

  /// `sent` requests each token a second time after the last one.
  @Test func eachDeviceHasItsOwnToken() throws {
    #expect(
      try sent(#"["00", {"token":"01"}, "\u0030\u0032", "03"]"#, "{}") == [
        "0 00 {}", "1 01 {}", "2 02 {}", "3 03 {}",
      ])
  }

  @Test func whatIsWrittenWithEscapesIsTheSame() throws {
    #expect(
      try sent(#"[{"tok\u0065n":"0\u0031","n\u00e9":7},"\u0030\u0030"]"#, #"{"n":{{né}}}"#) == [
        #"0 01 {"n":7}"#, "{{né}} is missing",
      ])
    let targets = try EntryTargets(
      NewEntry(app: "a", id: "i", tokens: #"["\u0030\u0031",{}]"#, payload: "{}"))
    #expect([targets.token(at: 0), targets.token(at: 1)] == ["01", ""])
  }

  /// Members of a device are kept if there are few, and read again otherwise.
  @Test func eachDeviceHasItsOwnMembers() throws {
    for more in [0, 1000] {
      let others = (0..<more).map { ",\"x\($0)\":\"{\"" }.joined()
      let devices = (0..<40).map { "{\"token\":\"\($0 + 10)\",\"n\":[\($0)]\(others)}" }
      let list = "[{\"n\":0},\(devices[0]), \"99\" ,{}, \(devices[1...].joined(separator: ","))]"
      let said = try sent(list, "{\"n\":{{n}}}")
      #expect(said.count == 43)
      #expect(
        Array(said.prefix(5)) == [
          "\"token\" is missing", "1 10 {\"n\":[0]}", "{{n}} is missing",
          "\"token\" is missing", "4 11 {\"n\":[1]}",
        ])
      #expect(said.last == "42 49 {\"n\":[39]}")
    }
  }

  @Test func aBroadcastHasNoDevice() throws {
    var entry = NewEntry(app: "a", id: "i", channel: "AQID", payload: "{\"{{x}}\":1}")
    let targets = try EntryTargets(entry)
    var space: [UInt8] = []
    let (tokenSize, payload) = try targets.withPush(at: 0, &space) {
      ($0.count, String(decoding: $1, as: UTF8.self))
    }
    #expect([targets.count, tokenSize] == [1, 0])
    #expect(targets.token(at: 0) == "")
    #expect(payload == entry.payload)
    for (token, tokens) in [("00", nil), (nil, "[]"), ("00", "[]")] as [(String?, String?)] {
      (entry.token, entry.tokens) = (token, tokens)
      #expect(throws: (any Error).self) { try EntryTargets(entry) }
    }
  }

  @Test func mistakesAreNamed() throws {
    for (tokens, said) in [
      ("", "tokens: expected an array, at byte 1"),
      ("[]", "tokens: 0 of them; an entry has 1 to 1000"),
      ("[\"00\"", "tokens: the JSON ends too early, at byte 6"),
      ("[\"00\"] x", "tokens: there is text after the end, at byte 8"),
      ("[\"00", "tokens: the JSON ends too early, at byte 5"),
      ("[x]", "tokens: not a JSON value, at byte 2"),
      ("[00x]", "tokens: not a JSON number, at byte 3"),
      ("[{\"token\":\"00\",\"n\":0x10}]", "tokens: expected ',' or '}', at byte 21"),
      (#"["\u00zz"]"#, "tokens: not a JSON escape, at byte 3"),
      (#"["\q0"]"#, "tokens: not a JSON escape, at byte 3"),
      ("\u{FEFF}[\"00\"]", "tokens: not a JSON value, at byte 1"),
    ] {
      #expect(fault { try sent(tokens, "{}") } == said)
    }
    #expect(
      try sent("[7, {\"x\":1}, \"00\"]", "{}").dropLast() == [
        "expected an object, at byte 1", "\"token\" is missing",
      ])
    let deep = String(repeating: "[", count: 10_000)
    #expect(throws: (any Error).self) { try sent(deep, "{}") }
    let many = "[" + [String](repeating: "\"00\"", count: 1001).joined(separator: ",") + "]"
    #expect(throws: (any Error).self) { try sent(many, "{}") }
  }
}
