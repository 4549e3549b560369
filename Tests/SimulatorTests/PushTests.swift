import BinaryServer
import COpenSSL
import Foundation
import NIOCore
import NIOEmbedded
import NIOHPACK
import Testing

@testable import Simulator

@Suite struct PushTests {
  private static func request(
    _ headers: [(String, String)] = [], method: String = "POST",
    path: String = "/3/device/00ff", payload: String = #"{"aps":{}}"#
  ) -> ReceivedPush {
    var request = ReceivedPush(HPACKHeaders([(":method", method), (":path", path)] + headers))
    var bytes = ByteBuffer(string: payload)
    request.append(&bytes)
    return request
  }

  @Test func takesWhatIsWellFormed() {
    var token: [UInt8] = []
    let rules = PushRules(rules: GatewayRules())
    #expect(rules.fault(of: Self.request(), &token) == nil)
    #expect(token == [0, 255])
  }

  @Test(arguments: [
    ("/3/device/0g", PushReason.badDeviceToken), ("/3/device/0", .badDeviceToken),
    ("/3/device/+1", .badDeviceToken), ("/3/device/é", .badDeviceToken),
    ("/3/device/", .missingDeviceToken), ("/4/device/00", .badPath), ("", .badPath),
  ])
  func judgesPaths(path: String, reason: PushReason) {
    var token: [UInt8] = []
    #expect(PushRules(rules: GatewayRules()).fault(of: Self.request(path: path), &token) == reason)
  }

  @Test func keepsNoMoreOfAPayloadThanItMayTake() {
    var request = Self.request()
    for _ in 0..<1000 {
      var piece = ByteBuffer(repeating: 0, count: 1000)
      request.append(&piece)
    }
    #expect(request.payloadCount == 1_000_010)
    #expect(request.payload.readableBytes <= 8192)
  }

  @Test func makesIdentifiersOfItsSeed() {
    var (one, other) = (SplitMix64(seed: 1), SplitMix64(seed: 1))
    let made = PushIdentifier.make(&one)
    #expect(made == PushIdentifier.make(&other))
    #expect(made != PushIdentifier.make(&one))
    #expect(made == made.lowercased() && UUID(uuidString: made) != nil)
    #expect(PushIdentifier.isOne(made))
  }

  @Test(arguments: [
    "", "123e4567-e89b-12d3-a456-42665544000", "123e4567-e89b-12d3-a456-42665544000aa",
    "123e4567ae89b-12d3-a456-42665544000a", "g23e4567-e89b-12d3-a456-42665544000a",
  ])
  func knowsWhatIsNoIdentifier(text: String) { #expect(!PushIdentifier.isOne(text)) }

  @Test func readsReasonsAsItWritesThem() {
    for reason in PushReason.all { #expect(PushReason(text: reason.text) == reason) }
    #expect(PushReason.all.count == 39)
    #expect(PushReason(text: "418 Teapot")?.text == "418 Teapot")
    #expect(PushReason(text: "500 BadPath")?.text == "500 BadPath")
    for text in ["Teapot", "99 X", "700 X", "400", ""] { #expect(PushReason(text: text) == nil) }
  }

  @Test func readsBase64AsTokensHaveIt() {
    for count in 0..<100 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 97) }
      let text = ProviderTokenTests.base64(Data(bytes))
      #expect(Base64URL.bytes(of: text.utf8) == bytes)
    }
    for text in ["a", "a=", "a b", "a/b+"] { #expect(Base64URL.bytes(of: text.utf8) == nil) }
  }

  @Test func givesCreditWhenItsShareIsUsed() {
    var credit = WindowCredit()
    #expect([30, 30, 30].map { credit.use($0, of: 100, share: 0.5) } == [0, 60, 0])
    credit.withhold(50)
    #expect([30, 30, 30].map { credit.use($0, of: 100, share: 0.5) } == [0, 0, 70])
  }

  // MARK: What is let through

  private static func frame(_ kind: UInt8, _ stream: UInt32, _ count: Int) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(UInt32(count) << 8 | UInt32(kind), UInt8(0), stream)
    bytes.writeRepeatingByte(kind, count: count)
    return bytes
  }

  private static func gate(
    _ json: String, _ limit: StreamsLimit = StreamsLimit()
  ) throws -> (EmbeddedChannel, FrameFilter) {
    try Stage.certificates.prepare()
    let faultsInForce = try FaultsInForce(
      FaultRules(JSONParser.read(json.utf8)), seed: 1, certificates: Stage.certificates,
      bounds: (.tls1_2, .tls1_2))
    let gate = FrameFilter(
      faults: ConnectionFaults(faultsInForce: faultsInForce, number: 1, service: .http2),
      limit: limit)
    return (EmbeddedChannel(handler: gate), gate)
  }

  private static let ack = ByteBuffer(bytes: [0, 0, 0, 4, 1, 0, 0, 0, 0])

  /// A limit holds from the frame on that acknowledges it, in whatever pieces it comes.
  @Test(arguments: [1, 2, 8, 9, 10, 1000])
  func knowsWhichLimitTheClientKnows(size: Int) throws {
    let limit = StreamsLimit()
    let (channel, _) = try Self.gate("{}", limit)
    #expect(limit.inForce == StreamsLimit.firstFlight)
    for most in [1, 1000, 10] {
      limit.set(most)
      let told = limit.tell()
      #expect(told == most)
    }
    // One that says nothing of streams.
    let told = limit.tell()
    #expect(told == nil)
    var stream = ByteBuffer(repeating: 80, count: 24)
    stream.writeImmutableBuffer(Self.frame(4, 0, 6))
    var seen: [Int] = []
    for _ in 0..<5 {
      stream.writeImmutableBuffer(Self.ack)
      while let piece = stream.readSlice(length: min(size, max(1, stream.readableBytes))) {
        try channel.writeInbound(piece)
      }
      seen.append(limit.inForce)
    }
    #expect(seen == [1000, 1000, 10, 10, 10])
    var count = 0
    while let piece = try channel.readInbound(as: ByteBuffer.self) { count += piece.readableBytes }
    // HTTP/2 sees all of them, and the one of its own.
    #expect(count == 24 + 15 + 6 * 9)
    _ = try? channel.finish()
  }

  @Test func givesBackWhatHTTP2Ignored() {
    var use = WindowUse()
    use.count(1000)
    use.left -= 1500
    var ignored = [use.takeIgnored(), use.takeIgnored()]
    use.grant(1500)
    ignored.append(use.takeIgnored())
    #expect(ignored == [500, 0, 0])
  }

  @Test func knowsTheKindsOfAnApp() {
    for kind in ["", ".voip", ".voip-ptt", ".push-type.liveactivity", ".pushkit.fileprovider"] {
      #expect(TopicKind.belongs("com.example.app" + kind, to: "com.example.app"))
    }
    for topic in ["com.example.app.", "com.example.application", "com.example", ".voip", ""] {
      #expect(!TopicKind.belongs(topic, to: "com.example.app"))
    }
  }

  /// In whatever pieces it comes.
  @Test(arguments: [1, 2, 3, 7, 9, 10, 24, 33, 1000], [#"{}"#, #"{"goaway_after":9}"#])
  func dropsWhatIsAboveTheLast(size: Int, json: String) throws {
    let (channel, gate) = try Self.gate(json)
    var (stream, kept) = (ByteBuffer(repeating: 80, count: 24), ByteBuffer())
    kept.writeImmutableBuffer(stream)
    func feed() throws {
      while let piece = stream.readSlice(length: min(size, max(1, stream.readableBytes))) {
        try channel.writeInbound(piece)
      }
    }
    for (kind, number, count) in [(4, 0, 6), (1, 1, 40), (0, 1, 5), (1, 5, 0)] {
      let frame = Self.frame(UInt8(kind), UInt32(number), count)
      stream.writeImmutableBuffer(frame)
      kept.writeImmutableBuffer(frame)
      // Those of ours that the client never sees.
      if kind == 4 { kept.writeImmutableBuffer(Self.ack) }
    }
    try feed()
    gate.close(above: 3)
    for (kind, number, count) in [
      (0, 5, 20), (6, 0, 8), (1, 7, 300), (0, 3, 4), (1, 9, 2), (0, 9, 2),
    ] {
      let frame = Self.frame(UInt8(kind), UInt32(number), count)
      stream.writeImmutableBuffer(frame)
      if number <= 3 { kept.writeImmutableBuffer(frame) }
    }
    try feed()
    var passed = ByteBuffer()
    while var piece = try channel.readInbound(as: ByteBuffer.self) { passed.writeBuffer(&piece) }
    #expect(passed == kept)
    #expect(gate.takeDropped() == 2 && gate.takeDropped() == 0)
    #expect(gate.takeDroppedData() == 22)
    _ = try? channel.finish()
  }
}

@Suite struct ProviderTokenTests {
  private static let key = KeyPair(.p256)!
  private static let tokens = ProviderTokens([
    ProviderKey(identifier: "KEY0000001", team: "TEAM000001", key: key)
  ])
  private static let now: Int64 = 1_800_000_000

  static func base64(_ data: Data) -> String {
    data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }

  private static func token(
    head: String = #"{"alg":"ES256","kid":"KEY0000001"}"#, age: Int64 = 0,
    by key: KeyPair = key
  ) throws -> String {
    let claims = #"{"iss":"TEAM000001","iat":\#(now - age)}"#
    let text = base64(Data(head.utf8)) + "." + base64(Data(claims.utf8))
    return text + "." + base64(Data(try signature(of: Array(text.utf8), by: key)))
  }

  /// As the library signs.
  private static func signature(of bytes: [UInt8], by key: KeyPair) throws -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 64)
    try #require(copenssl_sign_es256(context, key.handle, bytes, bytes.count, &signature) == 1)
    return signature
  }

  private func reason(
    _ token: String, of tokens: ProviderTokens, at now: Int64 = now, _ faults: Faults = Faults()
  ) -> PushReason? {
    var origin = TokenOrigin(address: "127.0.0.1")
    return reason(token, of: tokens, from: &origin, at: now, faults)
  }

  private func reason(
    _ token: String, of tokens: ProviderTokens, from origin: inout TokenOrigin,
    at now: Int64 = now, _ faults: Faults = Faults()
  ) -> PushReason? {
    switch tokens.judge("bearer " + token, at: now, from: &origin, faults) {
    case .good: nil
    case .refused(let reason): reason
    }
  }

  private func fresh() -> ProviderTokens {
    ProviderTokens([
      ProviderKey(identifier: "KEY0000001", team: "TEAM000001", key: Self.key)
    ])
  }

  @Test func takesWhatItsKeySigned() throws {
    let tokens = fresh()
    #expect(reason(try Self.token(), of: tokens) == nil)
    let foreign = try Self.token(by: KeyPair(.p256)!)
    #expect(reason(foreign, of: tokens) == .invalidProviderToken)
    // A head other than the one that was signed.
    let parts = try Self.token().split(separator: ".").map(String.init)
    let head = Self.base64(Data(#"{"kid":"KEY0000001","alg":"ES256"}"#.utf8))
    #expect(
      reason([head, parts[1], parts[2]].joined(separator: "."), of: tokens) == .invalidProviderToken
    )
    for wrong in [
      "", "a", "..", "a.b.c", parts[0] + ".." + parts[2], String(repeating: ".", count: 9),
    ]
    where !wrong.isEmpty {
      #expect(reason(wrong, of: tokens) == .invalidProviderToken)
    }
  }

  /// A provider's connections begin with one token, and all at once.
  @Test func takesANewTokenFromManyAtOnce() async throws {
    let token = try Self.token()
    for _ in 0..<50 {
      let tokens = fresh()
      let refused = await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<8 { group.addTask { reason(token, of: tokens) != nil } }
        return await group.contains(true)
      }
      #expect(!refused)
    }
  }

  @Test func countsAgeAndRenewals() throws {
    for scope in Faults.TokenScope.allCases {
      let tokens = fresh()
      var faults = Faults()
      faults.tokenScope = scope
      var origin = TokenOrigin(address: "127.0.0.1")
      func answer(age: Int64) throws -> PushReason? {
        reason(try Self.token(age: age), of: tokens, from: &origin, faults)
      }
      let first = try Self.token(age: 3599)
      let answers = [Self.now, Self.now + 1].map {
        reason(first, of: tokens, from: &origin, at: $0, faults)
      }
      #expect(answers == [nil, .expiredProviderToken])
      // Whoever was told so may renew however soon.
      #expect(try answer(age: 3500) == nil)
      #expect(try answer(age: 3000) == PushReason.tooManyProviderTokenUpdates)
      #expect(try answer(age: 2300) == nil)
      faults.tokenRenewal = 0
      #expect(try answer(age: 2299) == nil)
      faults.tokenAge = 2000
      #expect(try answer(age: 2100) == PushReason.expiredProviderToken)
    }
  }

  /// Another connection, from the same address or another, with a token of its own.
  @Test(arguments: [
    (Faults.TokenScope.connection, false, false), (.key, true, true), (.address, true, false),
  ])
  func countsRenewals(over scope: Faults.TokenScope, here: Bool, elsewhere: Bool) throws {
    let tokens = fresh()
    var faults = Faults()
    faults.tokenScope = scope
    let first = try Self.token(age: 100)
    for (token, address, isRefused) in [
      (first, "127.0.0.1", false), (first, "127.0.0.2", false),
      (try Self.token(age: 50), "127.0.0.1", here),
      (try Self.token(age: 49), "127.0.0.3", elsewhere),
      (first, "127.0.0.1", false),
    ] {
      var origin = TokenOrigin(address: address)
      let answer = reason(token, of: tokens, from: &origin, faults)
      let wanted: PushReason? = isRefused ? .tooManyProviderTokenUpdates : nil
      #expect(answer == wanted)
    }
  }
}
