import Testing

@testable import Relay

/// The owner of a key, by the cluster's specification and its servers.
@Suite struct RedisSlotTests {
  @Test func keysAreInTheSlotsOfTheSpecification() {
    // As CLUSTER KEYSLOT of Redis 7.0 returns them.
    for (key, slot) in [
      ("123456789", 0x31C3), ("foo", 12182), ("", 0), ("{user1000}.following", 3443),
      ("{user1000}.followers", 3443), ("user1000", 3443), ("foo{}{bar}", 8363),
      ("foo{{bar}}zap", 4015), ("{bar", 4015), ("foo{bar}{zap}", 5061), ("bar", 5061),
      ("apns:apps", 4711), ("apns:{shop}:in", 3808), ("apns:{shop}:out", 3808), ("{}", 15257),
      ("{", 4092),
      ("}{a", 12925), ("ü{ö}", 1050),
    ] {
      #expect(RedisSlot.of(key) == slot, "\(key)")
    }
  }

  private func range(_ start: Int64, _ end: Int64, _ host: RedisReply, _ port: Int64) -> RedisReply
  {
    .list([.number(start), .number(end), .list([host, .number(port), text("id"), .list([])])])
  }

  private func text(_ words: String) -> RedisReply { .bytes(Array(words.utf8)) }

  @Test func aMapNamesThePlaces() throws {
    let map = try RedisSlotMap(
      .list([
        range(0, 5, text("10.0.0.1"), 1), range(7, 7, .nothing, 2), range(8, 9, text(""), 3),
        .list([
          .number(10), .number(16383),
          .list([
            text("?"), .number(4), text("id"), .list([text("ip"), text("::1")]),
          ]),
        ]),
        range(6, 6, text("10.0.0.1"), 1),
      ]), from: "asked")
    #expect(
      map.places == [
        .host("10.0.0.1", port: 1), .host("asked", port: 2), .host("asked", port: 3),
        .host("::1", port: 4),
      ])
    #expect(map.covered == RedisSlot.count)
    #expect(map.owners[6...10] == [0, 1, 2, 2, 3])
    // Slots without an owner.
    let holes = try RedisSlotMap(.list([range(3, 3, text("a"), 1)]), from: "asked")
    #expect(holes.covered == 1)
    #expect(holes.owners[4] == -1)
  }

  @Test func aMapThatIsNoneIsRefused() {
    let place = text("a")
    for (reply, said) in [
      (.nothing, "not a slot map"), (text("OK"), "not a slot map"),
      (.list((0...16384).map { _ in .nothing }), "not a slot map"),
      (.list([.number(1)]), "slot out of range"),
      (.list([.list([.number(0), .number(1)])]), "slot out of range"),
      (.list([range(-1, 1, place, 1)]), "slot out of range"),
      (.list([range(0, 16384, place, 1)]), "slot out of range"),
      (.list([range(5, 4, place, 1)]), "slot out of range"),
      (.list([range(.min, .max, place, 1)]), "slot out of range"),
      (.list([range(0, 4, place, 0)]), "no address for the slots from 0 on"),
      (.list([range(0, 4, place, 65536)]), "no address for the slots from 0 on"),
      (.list([range(0, 4, place, .max)]), "no address for the slots from 0 on"),
      (.list([range(0, 4, text("a b"), 1)]), "no address for the slots from 0 on"),
      (
        .list([range(0, 4, text(String(repeating: "a", count: 256)), 1)]),
        "no address for the slots from 0 on"
      ),
      (.list([.list([.number(0), .number(1), .list([])])]), "no address for the slots from 0 on"),
      (
        .list([range(0, 4, place, 1), range(4, 5, place, 2)]), "two nodes for slot 4"
      ),
    ] as [(RedisReply, String)] {
      #expect(fault { try RedisSlotMap(reply, from: "asked") } == said)
    }
  }

  @Test func aRedirectNamesAPlace() {
    func read(_ words: String) -> String {
      switch RedisRedirect(words, from: "asked") {
      case .moved(let place): "moved \(place.name)"
      case .ask(let place): "ask \(place.name)"
      case .again: "again"
      case .away: "away"
      case nil: "none"
      }
    }
    for (words, said) in [
      ("MOVED 3999 127.0.0.1:6381", "moved 127.0.0.1:6381"),
      ("MOVED 3999 ::1:6381", "moved [::1]:6381"), ("MOVED 3999 :6381", "moved asked:6381"),
      ("MOVED 3999 ?:6381", "moved asked:6381"), ("ASK 1 redis.example:1", "ask redis.example:1"),
      ("TRYAGAIN Multiple keys request during rehashing of slot", "again"),
      ("CLUSTERDOWN Hash slot not served", "away"), ("LOADING Redis is loading", "away"),
      ("MASTERDOWN Link with MASTER is down", "away"), ("READONLY You can't write", "away"),
      ("MOVED", "none"), ("MOVED 1", "none"), ("MOVED 1 host", "none"), ("MOVED 1 host:", "none"),
      ("MOVED 1 host:0", "none"), ("MOVED 1 host:65536", "none"),
      ("MOVED 1 host:99999999999999999999", "none"), ("MOVED 1 a:1 b:2", "none"),
      ("MOVED 1 \(String(repeating: "h", count: 256)):1", "none"), ("MOVEDX 1 h:1", "none"),
      ("ERR MOVED 1 h:1", "none"), ("", "none"), ("WRONGTYPE Operation", "none"),
    ] {
      #expect(read(words) == said, "\(words)")
    }
  }
}
