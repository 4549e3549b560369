import CAPNS
import Foundation
import Testing

@testable import APNS

@Suite struct PushTypeTests {
  private func type(of payload: String) -> PushType {
    var payload = payload
    return payload.withUTF8 { PushType.inferred(from: UnsafeRawBufferPointer($0)) }
  }

  @Test(arguments: [
    #"{"aps":{"content-available":1}}"#,
    #"{"aps":{"content-available":1},"game":"chess","alert":"one's own"}"#,
    #"{"game":{"aps":{"alert":"not this one"}},"aps":{"content-available":1}}"#,
    #"{"sound":"x","badge":3,"aps":{"content-available":1}}"#,
    " { \"aps\" : { \"content-available\" : 1 } } \n",
    #"{"\u0061ps":{"content\u002davailable":1}}"#,
    #"{"aps":{"content-available":1,"category":"c","thread-id":"t"}}"#,
    #"{"aps":{"content-available":0,"content-available":1}}"#,
    #"{"a":[{"b":[[],{}]}],"aps":{"x":{"alert":1},"content-available":1}}"#,
    // A content state needs an event next to it.
    #"{"aps":{"content-available":1,"content-state":{}}}"#,
    #"{"aps":{"content-available":1,"content-changed":true}}"#,
  ])
  func background(_ payload: String) {
    #expect(type(of: payload) == .background)
  }

  @Test(arguments: [
    #"{"aps":{"alert":"Hello"}}"#,
    #"{"aps":{"alert":"Hello","content-available":1}}"#,
    #"{"aps":{"content-available":1,"alert":{"title":"Hello"}}}"#,
    #"{"aps":{"content-available":1,"badge":0}}"#,
    #"{"aps":{"content-available":1,"sound":""}}"#,
    #"{"aps":{"content-available":1,"\u0061lert":""}}"#,
    #"{"aps":{"content-available":1,"soun\u0064":""}}"#,
    #"{"aps":{"content-available":1},"aps":{"badge":1}}"#,
    #"{"aps":{"content-available":0}}"#,
    #"{"aps":{"content-available":11}}"#,
    #"{"aps":{"content-available":1.0}}"#,
    #"{"aps":{"content-available":"1"}}"#,
    #"{"aps":{"content-available":true}}"#,
    #"{"aps":{"content-available":[1]}}"#,
    #"{"aps":{"content-available":1,"content-available":0}}"#,
    #"{"aps":{"content-availabl":1}}"#,
    #"{"aps":{"content-available2":1}}"#,
    #"{"aps":{}}"#,
    #"{"aps":[{"content-available":1}]}"#,
    #"{"aps":"content-available"}"#,
    #"{"apsa":{"content-available":1}}"#,
    #"{"content-available":1}"#,
    #"{"game":{"aps":{"content-available":1}}}"#,
    #"{"aps":{"alert":"t","event":"party","timestamp":1}}"#,
    #"{"aps":{"event":"end","timestamp":1}}"#,
    #"{"aps":{"content-state":{},"timestamp":1}}"#,
    #"{"aps":{"content-stat":{},"event":"update"}}"#,
    #"{"aps":{},"content-state":{},"event":"update"}"#,
    #"{"aps":{"alert":{"content-state":{},"event":"update"}}}"#,
    #"{"aps":{"content-changed":true}}"#,
    #"{"mdm":"p","aps":{}}"#,
    #"{"aps":{},"mdm":"p"}"#,
    #"{"mdm":1}"#,
    #"{"mdmx":"p"}"#,
    #"{"m":{"mdm":"p"}}"#,
    "{}", "[]", "1", "null", "",
    // Payloads that are not JSON count as alerts.
    #"{"aps":{"content-available":1}"#,
    #"{"aps":{"content-available":1}}}"#,
    #"{"aps":{"content-available":1}}x"#,
    #"{"aps":{"content-available":1},}"#,
    #"{"aps":{"content-available":1},"a":tru}"#,
    #"{"aps":{"content-available":1,"a":"\ud800"}}"#,
    #"{"aps":{"content-state":{},"event":"update"}"#,
    #"{"mdm":"p"}}"#,
  ])
  func alert(_ payload: String) {
    #expect(type(of: payload) == .alert)
  }

  @Test(arguments: [
    #"{"aps":{"timestamp":1,"event":"update","content-state":{"goals":2}}}"#,
    #"{"aps":{"content-state":{},"event":"update","alert":{"title":"Goal"}},"game":"chess"}"#,
    #"{"aps":{"event":"end","dismissal-date":1663177260}}"#,
    #"{"aps":{"event":"star\u0074","content\u002Dstate":{}}}"#,
    #"{"aps":{"\u0065vent":"start","content-state":{},"content-available":1}}"#,
    " { \"aps\" : { \"event\" : \"end\" , \"content-state\" : { } } }",
  ])
  func liveActivity(_ payload: String) {
    #expect(type(of: payload) == .liveactivity)
  }

  @Test(arguments: [
    #"{"mdm":"8B6D-4F"}"#, " {\n\t\"mdm\" : \"p\" } ", #"{"\u006ddm":"p"}"#,
    #"{"mdm":"p","a":[1]}"#,
  ])
  func deviceManagement(_ payload: String) {
    #expect(type(of: payload) == .mdm)
  }

  @Test(arguments: [
    ("com.example.app.push-type.liveactivity", PushType.liveactivity),
    ("com.example.app.push-type.widgets", .widgets),
    ("a.push-type.controls", .controls),
    (".push-type.controls", nil), ("com.example.controls", nil), ("com.example.liveactivity", nil),
    ("com.example.app.push-type.widget", nil), ("s", nil), ("", nil),
    ("com.example.app.voip", .voip), ("com.example.app.voip-ptt", .pushtotalk), (".voip", nil),
    ("com.example.app.complication", .complication), ("a.location-query", .location),
    ("com.example.app.pushkit.fileprovider", .fileprovider), ("com.example.fileprovider", nil),
    ("com.example.app.VOIP", nil), ("com.example.appvoip", nil), ("com.example.voip.app", nil),
    ("com.apple.mgmt.External.7", .mdm), ("com.apple.mgmt.", nil), ("com.apple.mgmt.n.tion", .mdm),
  ])
  func topics(_ topic: String, _ type: PushType?) {
    var topic = topic
    topic.withUTF8 { #expect(PushType.named(in: UnsafeRawBufferPointer($0)) == type) }
  }

  @Test func anyBytes() {
    var random = SplitMix64(seed: 11)
    let payload = Array(#"{"aps":{"content-available":1},"game":[1,{"a":null}]}"#.utf8)
    for end in 0..<payload.count {
      withCopy(Array(payload[..<end])) { #expect(PushType.inferred(from: $0) == .alert) }
      for _ in 0..<50 {
        var changed = payload
        changed[end] = UInt8(truncatingIfNeeded: random.next())
        withCopy(changed) { _ = PushType.inferred(from: $0) }
      }
    }
  }

  @Test func texts() {
    let names = [
      "alert", "background", "location", "voip", "complication", "fileprovider", "mdm",
      "liveactivity", "pushtotalk", "widgets", "controls",
    ]
    for (index, name) in names.enumerated() {
      let type = PushType(rawValue: UInt8(index + 1))
      #expect(type.map { String(decoding: $0.text, as: UTF8.self) } == name)
      #expect(type?.payloadMax == (name == "voip" ? 5120 : 4096))
    }
    #expect(PushType(rawValue: 0) == nil)
    #expect(PushType(rawValue: 12) == nil)
  }
}

/// Copies bytes into memory of exactly their size, so that a sanitizer sees a read beyond them.
private func withCopy(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) -> Void) {
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
  defer { memory.deallocate() }
  memory.copyBytes(from: bytes)
  body(UnsafeRawBufferPointer(memory))
}

@Suite struct HTTP2RequestTests {
  /// A test's notification and the result.
  struct Push {
    var token = [UInt8](repeating: 7, count: 32)
    var payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)
    var priority: UInt8 = 0
    var type: UInt8 = 0
    var expiry: Int64 = 0
    var topic: String?
    var collapse: String?
    var id: String?
    var payloadMax = 0
    var sessionTopic: String?
    var needsTopic = false
    /// Reads the payload after the other fields were checked.
    var isBuilt = false

    func check<Result>(
      _ body: ((request: HTTP2Request, kind: HTTP2Request.Kind)) -> Result
    ) throws(Failure) -> Result {
      func pointer(_ text: String?) -> UnsafeMutablePointer<CChar>? { text.map { strdup($0)! } }
      let texts = [topic, collapse, id, sessionTopic].map(pointer)
      defer { for text in texts { free(text) } }
      let tokenCopy = UnsafeMutableRawBufferPointer.allocate(byteCount: token.count, alignment: 1)
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: payload.count, alignment: 1)
      defer {
        tokenCopy.deallocate()
        copy.deallocate()
      }
      tokenCopy.copyBytes(from: token)
      copy.copyBytes(from: payload)
      var given = apns_notification_t()
      given.token = UnsafeRawPointer(tokenCopy.baseAddress)
      given.token_length = token.count
      given.priority = priority
      given.push_type = type
      given.expiry = expiry
      given.topic = UnsafePointer(texts[0])
      given.collapse_id = UnsafePointer(texts[1])
      given.apns_id = UnsafePointer(texts[2])
      let written = UnsafeRawBufferPointer(copy)
      let request = try HTTP2Request(
        &given, payload: isBuilt ? UnsafeRawBufferPointer(start: nil, count: 0) : written,
        payloadCount: written.count, payloadMax: payloadMax, topic: UnsafePointer(texts[3]),
        isFor: texts[3].flatMap {
          PushType.named(in: UnsafeRawBufferPointer(start: $0, count: strlen($0)))
        }, needsTopic: needsTopic)
      return body((request, try request.kind(of: written)))
    }
  }

  private func text(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  private func refusal(_ push: Push) -> String? {
    do throws(Failure) {
      try push.check { _ in }
      return nil
    } catch {
      #expect(error.status == APNS_ERR_ARGUMENT)
      var told = apns_error_t()
      told.size = MemoryLayout<apns_error_t>.size
      error.report(to: &told)
      return withUnsafeBytes(of: told.message) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
    }
  }

  @Test func defaults() throws {
    try Push().check {
      #expect($0.kind.type == .alert)
      #expect($0.kind.priority == 0)
      #expect($0.request.expiry == nil)
      #expect($0.request.topic.count == 0)
      #expect($0.request.collapse.count == 0)
      #expect(UUIDText.isZero($0.request.identifier.bytes))
      #expect($0.request.token.count == 32)
    }
  }

  @Test func everyField() throws {
    var push = Push()
    push.priority = 10
    push.type = 8
    push.expiry = 1_700_000_000
    push.topic = "com.example.app.push-type.liveactivity"
    push.sessionTopic = "com.example.app"
    push.collapse = "game 7 \u{20ac}"
    push.id = "123E4567-e89b-12d3-A456-4266554400aF"
    try push.check {
      #expect($0.kind.type == .liveactivity)
      #expect($0.kind.priority == 10)
      #expect($0.request.expiry == 1_700_000_000)
      #expect(text($0.request.topic) == "com.example.app.push-type.liveactivity")
      #expect(text($0.request.collapse) == "game 7 \u{20ac}")
      let id = (0..<16).map { [id = $0.request.identifier.bytes] in id[$0] }
      #expect(id == [18, 62, 69, 103, 232, 155, 18, 211, 164, 86, 66, 102, 85, 68, 0, 175])
    }
  }

  @Test func tokens() throws {
    var push = Push()
    for count in [1, 100] {
      push.token = [UInt8](repeating: 1, count: count)
      try push.check { #expect($0.request.token.count == count) }
    }
    push.token = []
    #expect(refusal(push) == "the device token has 0 bytes, not 1 to 100")
    push.token = [UInt8](repeating: 1, count: 101)
    #expect(refusal(push) == "the device token has 101 bytes, not 1 to 100")
  }

  @Test(arguments: [(UInt8(0), 4096), (1, 4096), (4, 5120), (8, 4096)])
  func payloads(_ type: UInt8, _ limit: Int) throws {
    var push = Push()
    push.type = type
    push.payload = [UInt8](repeating: 0x20, count: limit)
    try push.check { #expect($0.kind.type.rawValue == max(type, 1)) }
    push.payload.append(0x20)
    #expect(refusal(push) == "the payload has \(limit + 1) bytes, more than \(limit)")
    // The session's limit never raises the limit of APNs.
    push.payloadMax = 9999
    #expect(refusal(push) == "the payload has \(limit + 1) bytes, more than \(limit)")
    push.payloadMax = 1000
    #expect(refusal(push) == "the payload has \(limit + 1) bytes, more than 1000")
    push.payload = []
    #expect(refusal(push) == "the payload is empty")
  }

  @Test func priorities() throws {
    var push = Push()
    for priority: UInt8 in [1, 5, 10] {
      push.priority = priority
      try push.check { #expect($0.kind.priority == priority) }
    }
    for priority: UInt8 in [2, 4, 6, 9, 11, 255] {
      push.priority = priority
      #expect(refusal(push) == "priority is \(priority), not 1, 5 or 10")
    }
  }

  /// The push type is given, or inferred from the payload.
  @Test(arguments: [true, false], [true, false])
  func backgroundHasPriority5(_ isSaid: Bool, _ isBuilt: Bool) throws {
    var push = Push()
    push.isBuilt = isBuilt
    push.type = isSaid ? 2 : 0
    push.payload = Array(#"{"aps":{"content-available":1}}"#.utf8)
    for priority: UInt8 in [0, 5] {
      push.priority = priority
      try push.check {
        #expect($0.kind.type == .background)
        #expect($0.kind.priority == 5)
      }
    }
    for priority: UInt8 in [1, 10] {
      push.priority = priority
      #expect(refusal(push) == "priority is \(priority), but a background push needs 5")
    }
    push.priority = 3
    #expect(refusal(push) == "priority is 3, not 1, 5 or 10")
    // An explicit push type of alert overrides the payload.
    push.type = 1
    push.priority = 10
    try push.check { #expect($0.kind.type == .alert && $0.kind.priority == 10) }
  }

  @Test func types() throws {
    var push = Push()
    for type: UInt8 in 1...11 {
      push.type = type
      try push.check { #expect($0.kind.type.rawValue == type) }
    }
    for type: UInt8 in [12, 13, 255] {
      push.type = type
      #expect(refusal(push) == "push_type is \(type), not an apns_push_type_t")
    }
  }

  @Test func expiries() throws {
    var push = Push()
    for (given, said) in [(1, 1), (-1, 0), (Int64.max, Int64.max)] as [(Int64, Int64)] {
      push.expiry = given
      try push.check { #expect($0.request.expiry == said) }
    }
    for given in [-2, Int64.min] {
      push.expiry = given
      #expect(refusal(push) == "expiry is \(given), neither a time nor APNS_EXPIRY_ONCE")
    }
  }

  @Test func topics() throws {
    var push = Push()
    push.sessionTopic = "com.example.session"
    try push.check { #expect(text($0.request.topic) == "com.example.session") }
    push.topic = ""
    try push.check { #expect(text($0.request.topic) == "com.example.session") }
    push.topic = "com.example.app"
    try push.check { #expect(text($0.request.topic) == "com.example.app") }
    push.topic = String(repeating: "x", count: 255)
    try push.check { #expect($0.request.topic.count == 255) }
    push.topic = String(repeating: "x", count: 256)
    #expect(refusal(push) == "topic has more than 255 bytes")
    push.topic = "com.example app"
    #expect(refusal(push) == "topic cannot have character 0x20 at 11")
    push.topic = "com.example\r\napns-priority: 10"
    #expect(refusal(push) == "topic cannot have character 0x0d at 11")
    push.topic = "\u{7F}"
    #expect(refusal(push) == "topic cannot have character 0x7f at 0")
  }

  /// A session's topic gets a missing suffix; a notification's own topic does not.
  @Test(arguments: [
    (3, ".location-query"), (4, ".voip"), (5, ".complication"), (6, ".pushkit.fileprovider"),
    (8, ".push-type.liveactivity"), (9, ".voip-ptt"), (10, ".push-type.widgets"),
    (11, ".push-type.controls"), (1, ""), (2, ""), (7, ""),
  ])
  func topicSuffixes(_ type: UInt8, _ suffix: String) throws {
    var push = Push()
    push.type = type
    try push.check { #expect($0.request.topicSuffix.count == 0) }
    push.sessionTopic = "com.example.app"
    try push.check {
      #expect(text($0.request.topic) == "com.example.app")
      #expect(text($0.request.topicSuffix) == suffix)
    }
    push.sessionTopic = "com.example.app\(suffix)"
    try push.check { #expect($0.request.topicSuffix.count == 0) }
    push.topic = "com.example.app"
    try push.check { #expect($0.request.topicSuffix.count == 0) }
    push.topic = nil
    push.sessionTopic = "com.example.app.push-type.widgets"
    try push.check { #expect($0.request.topicSuffix.count == 0) }
  }

  @Test func aTopicThatImpliesTheType() throws {
    var push = Push()
    push.sessionTopic = "com.example.app.push-type.widgets"
    for isBuilt in [false, true] {
      push.isBuilt = isBuilt
      try push.check { #expect($0.kind.type == .widgets) }
    }
    push.topic = "com.example.app.push-type.controls"
    try push.check { #expect($0.kind.type == .controls) }
    push.type = 1
    try push.check { #expect($0.kind.type == .alert) }
  }

  @Test func aProviderTokenNeedsATopic() throws {
    var push = Push()
    push.needsTopic = true
    #expect(refusal(push) == "there is no topic, and a provider token needs one")
    push.topic = ""
    #expect(refusal(push) == "there is no topic, and a provider token needs one")
    push.sessionTopic = "com.example.app"
    try push.check { #expect(text($0.request.topic) == "com.example.app") }
  }

  @Test func collapseIdentifiers() throws {
    var push = Push()
    push.collapse = String(repeating: "x", count: 64)
    try push.check { #expect($0.request.collapse.count == 64) }
    push.collapse = String(repeating: "x", count: 65)
    #expect(refusal(push) == "collapse_id has more than 64 bytes")
    // The limit counts bytes, not characters.
    push.collapse = String(repeating: "\u{e9}", count: 33)
    #expect(refusal(push) == "collapse_id has more than 64 bytes")
    push.collapse = ""
    try push.check { #expect($0.request.collapse.count == 0) }
    for (text, message) in [
      (" a", "0x20 at 0"), ("a ", "0x20 at 1"), (" ", "0x20 at 0"), ("a\nb", "0x0a at 1"),
      ("a\tb", "0x09 at 1"), ("\u{1}", "0x01 at 0"),
    ] {
      push.collapse = text
      #expect(refusal(push) == "collapse_id cannot have character \(message)")
    }
  }

  @Test(arguments: [
    "123e4567-e89b-12d3-a456-42665544000", "123e4567-e89b-12d3-a456-4266554400000",
    "123e4567e89b12d3a456426655440000", "123e4567-e89b-12d3-a456_426655440000",
    "g23e4567-e89b-12d3-a456-426655440000", "{23e4567-e89b-12d3-a456-42665544000}",
    "-", "x", "123e4567-e89b-12d3-a456-4266554400\u{e9}", "123e4567--89b-12d3-a456-426655440000",
  ])
  func whatIsNoUUID(_ id: String) {
    var push = Push()
    push.id = id
    #expect(refusal(push) == "apns_id is not a UUID")
  }
}
