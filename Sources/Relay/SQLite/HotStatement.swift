import GRDB
import GRDBSQLite

/// A value that a statement can have.
protocol HotValue {
  func bind(to statement: inout HotStatement)
}

extension Int64: HotValue {
  func bind(to statement: inout HotStatement) { statement.bind(self) }
}

extension String: HotValue {
  func bind(to statement: inout HotStatement) { statement.bind(self) }
}

/// A statement that runs for each entry, through SQLite's C functions, which cost half as much as
/// GRDB's. GRDB keeps it prepared.
struct HotStatement: ~Copyable {
  private let statement: OpaquePointer
  private let database: Database
  private var place: Int32 = 0
  /// Room for texts, of which `textBytes` are used.
  private var texts = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
  private var textBytes = 0

  // Inlined, so that no pack of values is made at run time.
  @inline(always)
  init<each Value: HotValue>(
    _ database: Database, _ sql: String, _ values: repeat each Value
  ) throws {
    self.database = database
    statement = try database.cachedStatement(sql: sql).sqliteStatement
    sqlite3_reset(statement)
    repeat (each values).bind(to: &self)
  }

  /// Whether it finds a row.
  @inline(always)
  static func finds<each Value: HotValue>(
    _ database: Database, _ sql: String, _ values: repeat each Value
  ) throws -> Bool {
    var statement = try HotStatement(database, sql, repeat each values)
    return try statement.step()
  }

  /// For these rows. `sql` ends where a comparison with their numbers follows.
  init(_ database: Database, _ sql: String, _ first: Int64? = nil, rows: RowGroup) throws {
    try self.init(database, sql + rows.condition)
    if let first { bind(first) }
    for value in rows.values { bind(value) }
  }

  deinit {
    sqlite3_reset(statement)
    sqlite3_clear_bindings(statement)
    texts.deallocate()
  }

  /// Keeps the texts of many rows together, because SQLite would allocate memory for each. SQLite
  /// keeps the texts that do not fit.
  mutating func keepTexts() { texts = .allocate(capacity: 256 * Self.rowsTogether) }

  mutating func bind(_ value: Int64) {
    place += 1
    sqlite3_bind_int64(statement, place, value)
  }

  mutating func bind(_ text: String) {
    var text = text
    text.withUTF8 { bind(text: $0) }
  }

  /// The bytes are copied. An empty text is not NULL.
  mutating func bind(text: UnsafeBufferPointer<UInt8>) {
    place += 1
    let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    if let start = text.baseAddress, let room = texts.baseAddress,
      text.count <= texts.count - textBytes
    {
      let own = room + textBytes
      own.update(from: start, count: text.count)
      textBytes += text.count
      _ = own.withMemoryRebound(to: CChar.self, capacity: text.count) {
        sqlite3_bind_text(statement, place, $0, Int32(clamping: text.count), nil)
      }
    } else if let start = text.baseAddress {
      _ = start.withMemoryRebound(to: CChar.self, capacity: text.count) {
        sqlite3_bind_text(statement, place, $0, Int32(clamping: text.count), copies)
      }
    } else {
      sqlite3_bind_text(statement, place, "", 0, copies)
    }
  }

  mutating func bind(optional value: Int64?) {
    if let value { bind(value) } else { bindNull() }
  }

  mutating func bind(optional text: String?) {
    if let text { bind(text) } else { bindNull() }
  }

  private mutating func bindNull() {
    place += 1
    sqlite3_bind_null(statement, place)
  }

  /// True if there is a row.
  mutating func step() throws -> Bool {
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let message = sqlite3_errmsg(database.sqliteConnection).map { String(cString: $0) }
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
  }

  /// Runs it to completion, and makes it ready for the next values.
  @inline(always)
  mutating func run<each Value: HotValue>(_ values: repeat each Value) throws {
    repeat (each values).bind(to: &self)
    defer {
      sqlite3_reset(statement)
      (place, textBytes) = (0, 0)
    }
    while try step() {}
  }

  /// How many rows are added together, because most of a row's cost is the statement around it.
  static let rowsTogether = 32

  /// Runs it for the rows with these numbers. `sql` ends where a comparison with them follows.
  static func run(_ database: Database, _ sql: String, _ first: Int64? = nil, numbers: [Int64])
    throws
  {
    for rows in RowGroup.all(numbers) {
      var statement = try HotStatement(database, sql, first, rows: rows)
      try statement.run()
    }
  }

  func int(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

  func optionalInt(_ column: Int32) -> Int64? {
    sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : int(column)
  }

  /// nil for NULL. Replaces bytes that are not UTF-8.
  func text(_ column: Int32) -> String? {
    guard let bytes = sqlite3_column_text(statement, column) else { return nil }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// Any other text is the normal lane.
  func lane(_ column: Int32) -> Lane {
    // Most entries' lane costs no string.
    switch sqlite3_column_text(statement, column)?.pointee {
    case UInt8(ascii: "u"): .urgent
    case UInt8(ascii: "b"): .bulk
    default: .normal
    }
  }

  /// The text as it is stored; nil for NULL and for invalid UTF-8. `fault` receives the first
  /// column with invalid UTF-8.
  func text(_ column: Int32, _ name: StaticString, _ fault: inout String?) -> String? {
    guard let bytes = sqlite3_column_text(statement, column) else { return nil }
    let count = Int(sqlite3_column_bytes(statement, column))
    let text = String(read: UnsafeRawBufferPointer(start: bytes, count: count))
    if text == nil, fault == nil { fault = "\(name) is not UTF-8" }
    return text
  }
}
