/// Consecutive notifications. All their texts lie in one array: an object for each would take as much
/// memory again.
struct PushPiece: Sendable {
  static let size = 1024

  private var records: [KeptPush.Record] = []
  private var texts: [UInt8] = []

  init() { records.reserveCapacity(Self.size) }

  var count: Int { records.count }
  var first: Int { records[0].number }
  var last: Int { records[records.count - 1].number }

  mutating func append(_ push: RecentPush) {
    records.append(KeptPush.Record(push, start: texts.count))
    texts.pack(push)
    // A full piece does without the room into which it would grow.
    if count == Self.size { texts = texts.withUnsafeBufferPointer { Array($0) } }
  }

  /// Its texts stay until the piece goes.
  mutating func remove(at index: Int) { records.remove(at: index) }

  /// The index of a number; nil without it.
  func index(of number: Int) -> Int? {
    let index = records.partitionIndex { $0.number >= number }
    return index < records.count && records[index].number == number ? index : nil
  }

  subscript(index: Int) -> RecentPush { read { $0(index).copy } }

  /// `body` gets notifications by their indices.
  func read<Result>(_ body: ((Int) -> KeptPush) -> Result) -> Result {
    records.withUnsafeBufferPointer { records in
      texts.withUnsafeBufferPointer { texts in
        guard let first = records.baseAddress, let start = texts.baseAddress else {
          preconditionFailure("no piece is empty")
        }
        return body { KeptPush(first + $0, start) }
      }
    }
  }
}
