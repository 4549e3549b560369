import Testing

@testable import Simulator

@Suite struct FaultTests {
  @Test(arguments: [
    ("bad_every=3", #"{"bad_every":3}"#), ("bad_tokens=0102,AB", #"{"bad_tokens":["0102","ab"]}"#),
    ("bad_prefixes=1234", #"{"bad_prefixes":["1234"]}"#),
    ("bad_status=1,8", #"{"bad_status":[1,8]}"#),
    ("error_delay_ms=5,9", #"{"error_delay_ms":[5,9]}"#),
    ("error_delay_ms=[5,5]", #"{"error_delay_ms":5}"#),
    ("close=reset", #"{"close":"reset"}"#), ("tls_max=1.3", #"{"tls_max":"1.3"}"#),
    ("handshake_alert=unknown_ca", #"{"handshake_alert":48}"#),
    ("no_packet=true", #"{"no_packet":1.0}"#),
    ("cut_after=10", #"{"cut_after":10}"#), ("shutdown_after=2,4", #"{"shutdown_after":[2,4]}"#),
    ("cut=stall", #"{"cut":"stall"}"#), ("count_over=run", #"{"count_over":"run"}"#),
    ("times=1", #"{"times":1}"#), ("count_over=connection", "{}"),
    ("bad_reason=Unregistered,Shutdown", #"{"bad_reason":["Unregistered","Shutdown"]}"#),
    ("bad_reason=418 Teapot", #"{"bad_reason":"418 Teapot"}"#), ("bad_reason=BadDeviceToken", "{}"),
    ("streams_max=0", #"{"streams_max":0}"#), ("goaway=open", #"{"goaway":"open"}"#),
    ("goaway_reason=Shutdown", #"{"goaway_reason":"Shutdown"}"#), ("reset_code=7", "{}"),
    ("token_age_max_s=0", #"{"token_age_max_s":0}"#), ("token_renewal_min_s=1200", "{}"),
    ("answers=each", #"{"answers":"each"}"#), ("credit_share=0.5", "{}"),
    ("connection_share=1", "{}"), ("sentinel=own", "{}"), ("cut_after_bytes=null", "{}"),
  ])
  func readsOptionsAndWritesThemAsItReadsThem(option: String, json: String) throws {
    var faults = Faults()
    try faults.adopt(option: option)
    #expect(faults.json == json)
    var again = Faults()
    try again.adopt(JSONParser.read(json.utf8))
    #expect(again.json == json)
  }

  @Test(arguments: [
    ("bad_every", "expected name=value"), ("bad=1", "there is no fault named bad"),
    ("bad_every=0", "bad_every: expected a whole number from 1 on"),
    ("bad_every=1.5", "bad_every: expected a whole number from 1 on"),
    ("bad_share=1.1", "bad_share: expected a number from 0 to 1"),
    ("bad_tokens=0x", "bad_tokens: 'x' is not a hex digit"),
    ("bad_status=256", "bad_status: expected a number from 0 to 255"),
    ("error_delay_ms=9,5", "error_delay_ms: 9 is above 5"),
    ("close=rst", "close: expected one of close_notify, fin, reset, stall"),
    ("goaway_reason=", "goaway_reason: expected a text"),
    ("token_age_max_s=-1", "token_age_max_s: expected a whole number from 0 on"),
    ("times=0", "times: expected a whole number from 1 on"),
  ])
  func saysWhatIsWrongWithAnOption(option: String, message: String) {
    var faults = Faults()
    let fault = #expect(throws: JSONError.self) { try faults.adopt(option: option) }
    #expect(fault?.message == message)
    #expect(faults.json == "{}")
  }

  @Test(
    arguments: [
      ("{}", nil), ("[1,-0.5e+3,\"\\u00e9\\ud83d\\ude00\",true,null]", nil), ("", 0), ("{", 1),
      ("[1,]", 3),
      ("01", 1), ("\"\\x\"", 1), ("\"\\ud83d\"", 1), ("\"a", 0), ("nul", 0), ("1 2", 2),
      ("{\"a\" 1}", 5),
      ("-", 1), ("1.", 2), ("1e999", 0), ("\"\t\"", 1),
    ] as [(String, Int?)])
  func readsJSONAndNothingElse(text: String, offset: Int?) {
    do throws(JSONError) {
      _ = try JSONParser.read(text.utf8)
      #expect(offset == nil)
    } catch {
      #expect(error.offset == offset)
    }
  }

  @Test func isNotDrivenDeep() {
    #expect(throws: JSONError.self) {
      try JSONParser.read([UInt8](repeating: UInt8(ascii: "["), count: 100_000))
    }
  }

  private static func faultsInForce(_ json: String) throws -> FaultsInForce {
    try Stage.certificates.prepare()
    return try FaultsInForce(
      FaultRules(JSONParser.read(json.utf8)), seed: 1, certificates: Stage.certificates,
      bounds: (.tls1_2, .tls1_2))
  }

  @Test func givesEachConnectionTheFirstRuleThatTakesItIn() throws {
    let faultsInForce = try Self.faultsInForce(
      """
      [{"connections": 2, "bad_every": 5}, {"connections": [2, 3], "bad_every": 6}, \
      {"connection_share": 0}]
      """)
    let given = (1...4).map {
      ConnectionFaults(faultsInForce: faultsInForce, number: $0).faults.badEvery
    }
    #expect(given == [nil, 5, 6, nil])
    try faultsInForce.set(FaultRules(JSONParser.read("{\"bad_every\":1}".utf8)))
    #expect(ConnectionFaults(faultsInForce: faultsInForce, number: 4).faults.badEvery == 1)
  }

  /// Over two connections that take turns.
  @Test(arguments: [
    (#"{"cut_after":3}"#, [5, 6, 11, 12]), (#"{"cut_after":3,"times":1}"#, [5]),
    (#"{"cut_after":3,"count_over":"run"}"#, [3, 6, 9, 12]),
    (#"{"shutdown_after":4,"cut_after":5,"count_over":"run","times":2}"#, [4, 8]),
    ("{}", []),
  ])
  func countsAsItIsTold(json: String, struck: [Int]) throws {
    let faultsInForce = try Self.faultsInForce(json)
    let connections = [1, 2].map { ConnectionFaults(faultsInForce: faultsInForce, number: $0) }
    #expect((1...12).filter { connections[$0 % 2].endAfterAcceptance() != nil } == struck)
    // An order begins counts anew.
    try faultsInForce.set(faultsInForce.rules)
    for connection in connections { connection.refresh() }
    #expect((1...12).filter { connections[$0 % 2].endAfterAcceptance() != nil } == struck)
  }

  @Test func throwsItsDiceFromSeedAndNumber() throws {
    try Stage.certificates.prepare()
    var faults = Faults()
    faults.cutAfterBytes = 0...1_000_000
    func drawn(seed: UInt64, number: Int) throws -> Int? {
      let faultsInForce = try FaultsInForce(
        FaultRules(faults), seed: seed, certificates: Stage.certificates, bounds: (.tls1_2, .tls1_2)
      )
      return ConnectionFaults(faultsInForce: faultsInForce, number: number).cutAfterBytes
    }
    #expect(try drawn(seed: 1, number: 1) == drawn(seed: 1, number: 1))
    #expect(try drawn(seed: 1, number: 1) != drawn(seed: 2, number: 1))
    #expect(try drawn(seed: 1, number: 1) != drawn(seed: 1, number: 2))
    let first = try drawn(seed: 1, number: 1)
    // One fault more does not change the others.
    faults.stallTime = 5...50
    #expect(try drawn(seed: 1, number: 1) == first)
  }
}
