/// Parses the reply of the script `claim`.
struct ClaimedEntries {
  private(set) var places: [StreamPlace] = []
  var entries: [Entry] = []

  /// `long` has the values that are not in the text itself.
  mutating func read(
    _ text: UnsafeRawBufferPointer, _ long: ArraySlice<RedisReply>, app: String
  ) throws(MessagePack.Reader.Fault) {
    var reader = MessagePack.Reader(text)
    let number = try reader.list()
    // Each takes more than 16 bytes.
    places.reserveCapacity(min(number, text.count / 16))
    entries.reserveCapacity(min(number, text.count / 16))
    for _ in 0..<number {
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
    add(NewEntry(app: app, id: "", payload: ""), deliveries: 1)
    var fields = RedisFields()
    try fields.read(count, from: &reader, [], into: &entries[last].content)
    guard let place = StreamPlace(try reader.text()), !entries[last].content.id.isEmpty else {
      throw MessagePack.Reader.Fault()
    }
    end(fields, place)
  }

  private mutating func readAny(
    _ reader: inout MessagePack.Reader, _ long: ArraySlice<RedisReply>, _ app: String
  ) throws(MessagePack.Reader.Fault) {
    guard try reader.list() == 7, let place = StreamPlace(try reader.text()) else {
      throw MessagePack.Reader.Fault()
    }
    let id = String(decoding: try reader.text(), as: UTF8.self)
    add(NewEntry(app: app, id: "", payload: ""), deliveries: Self.times(try reader.number()))
    entries[last].deferrals = Self.times(try reader.number())
    entries[last].crashes = Self.times(try reader.number())
    entries[last].resolved = PositionSet(text: String(decoding: try reader.text(), as: UTF8.self))
    let idFault = try reader.text()
    let count = try reader.list()
    var fields = RedisFields()
    try fields.read(count, from: &reader, long, into: &entries[last].content)
    end(fields, place)
    entries[last].content.id = id
    if !idFault.isEmpty { entries[last].fault = String(decoding: idFault, as: UTF8.self) }
  }

  private var last: Int { entries.count - 1 }

  /// Adds an entry that is filled in its place, because a copy would retain all of its strings.
  private mutating func add(_ content: consuming NewEntry, deliveries: Int) {
    entries.append(
      Entry(number: 0, content: content, deliveries: deliveries, deferrals: 0, resolved: []))
  }

  /// The last entry has these fields, and was in this place.
  private mutating func end(_ fields: RedisFields, _ place: StreamPlace) {
    places.append(place)
    entries[last].content.lane = place.lane
    entries[last].made = Self.made(place, due: fields.due)
    entries[last].fault = fields.fault(in: place.lane)
  }

  /// In Redis' time. A producer may have given the entry any number.
  private static func made(_ place: StreamPlace, due: Int64) -> Int64 {
    max(Int64(min(place.time, 1 << 53)), due)
  }

  /// Any program may have written the number, so it is kept small enough to add to.
  private static func times(_ number: Int64) -> Int { Int(min(max(0, number), 1 << 31)) }
}
