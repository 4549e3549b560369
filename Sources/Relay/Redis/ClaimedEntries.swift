/// Parses the reply of the script `claim`.
struct ClaimedEntries {
  private(set) var places: [StreamPlace] = []
  var entries: [Entry] = []

  /// `long` has the values that are not in the text itself.
  mutating func read(
    _ text: UnsafeRawBufferPointer, _ long: ArraySlice<RedisReply>, app: String
  ) throws(MessagePack.Reader.Fault) {
    var reader = MessagePack.Reader(text)
    for _ in 0..<(try reader.list()) {
      let count = try reader.list()
      if count == 2 {
        try readAny(&reader, long, app)
      } else {
        try readNew(&reader, fields: count - 1, app)
      }
    }
  }

  /// Reads a new entry with an ID and one device: its fields, then its number.
  private mutating func readNew(
    _ reader: inout MessagePack.Reader, fields count: Int, _ app: String
  ) throws(MessagePack.Reader.Fault) {
    guard count > 0, count % 2 == 0 else { throw MessagePack.Reader.Fault() }
    var (content, fault, said, due) = try RedisEntry.content(
      from: &reader, [], fields: count, app: app)
    guard let place = StreamPlace(try reader.text()), !content.id.isEmpty else {
      throw MessagePack.Reader.Fault()
    }
    fault = RedisEntry.setLane(place.lane, of: &content, said: said) ?? fault
    places.append(place)
    entries.append(
      Entry(
        number: 0, content: content, deliveries: 1, deferrals: 0, made: Self.made(place, due: due),
        resolved: [], fault: fault))
  }

  private mutating func readAny(
    _ reader: inout MessagePack.Reader, _ long: ArraySlice<RedisReply>, _ app: String
  ) throws(MessagePack.Reader.Fault) {
    guard try reader.list() == 7, let place = StreamPlace(try reader.text()) else {
      throw MessagePack.Reader.Fault()
    }
    let id = String(decoding: try reader.text(), as: UTF8.self)
    let (deliveries, deferrals) = (try reader.number(), try reader.number())
    let crashes = try reader.number()
    let resolved = PositionSet(text: String(decoding: try reader.text(), as: UTF8.self))
    let idFault = try reader.text()
    let fields = try reader.list()
    var (content, fault, said, due) = try RedisEntry.content(
      from: &reader, long, fields: fields, app: app)
    fault = RedisEntry.setLane(place.lane, of: &content, said: said) ?? fault
    content.id = id
    if !idFault.isEmpty { fault = String(decoding: idFault, as: UTF8.self) }
    places.append(place)
    entries.append(
      Entry(
        number: 0, content: content, deliveries: Self.times(deliveries),
        deferrals: Self.times(deferrals), crashes: Self.times(crashes),
        made: Self.made(place, due: due),
        resolved: resolved, fault: fault
      ))
  }

  /// In Redis' time. A producer may have given the entry any number.
  private static func made(_ place: StreamPlace, due: Int64) -> Int64 {
    max(Int64(min(place.time, 1 << 53)), due)
  }

  /// Any program may have written the number, so it is kept small enough to add to.
  private static func times(_ number: Int64) -> Int { Int(min(max(0, number), 1 << 31)) }
}
