import CHiredis

/// A command and its arguments, one behind the other: a batch has thousands of them.
struct RedisCommand {
  private(set) var bytes: [UInt8] = []
  private(set) var ends: [Int] = []

  init(_ words: String...) {
    for word in words { add(word) }
  }

  mutating func add(_ text: String) {
    bytes.append(contentsOf: text.utf8)
    ends.append(bytes.count)
  }

  mutating func add(_ more: [UInt8]) {
    bytes += more
    ends.append(bytes.count)
  }

  mutating func add(_ value: Int64) { add(String(value)) }
  mutating func add(_ value: Int) { add(String(value)) }

  /// The command's arguments as hiredis wants them.
  func withArguments<Value>(
    _ use: (CInt, UnsafeMutablePointer<UnsafePointer<CChar>?>, UnsafePointer<Int>) -> Value
  ) -> Value {
    var starts: [Int] = [0]
    starts.append(contentsOf: ends.dropLast())
    let lengths = zip(starts, ends).map { $1 - $0 }
    return bytes.withUnsafeBytes { raw in
      // An array without bytes has no address, and hiredis reads none of it.
      let base = raw.baseAddress?.assumingMemoryBound(to: CChar.self)
      var places = starts.map { start in base.map { UnsafePointer($0 + start) } }
      return places.withUnsafeMutableBufferPointer { places in
        lengths.withUnsafeBufferPointer { lengths in
          use(CInt(ends.count), places.baseAddress!, lengths.baseAddress!)
        }
      }
    }
  }
}

/// What Redis answers.
enum RedisReply {
  case nothing
  case number(Int64)
  case bytes([UInt8])
  case list([RedisReply])
  case error(String)

  init(_ reply: UnsafePointer<redisReply>) {
    let content = reply.pointee
    switch content.type {
    case REDIS_REPLY_INTEGER: self = .number(content.integer)
    case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: self = .bytes(Self.copy(content))
    case REDIS_REPLY_ERROR: self = .error(String(decoding: Self.copy(content), as: UTF8.self))
    case REDIS_REPLY_ARRAY:
      self = .list(
        (0..<content.elements).map { index in
          content.element[index].map { RedisReply($0) } ?? .nothing
        })
    default: self = .nothing
    }
  }

  private static func copy(_ content: redisReply) -> [UInt8] {
    guard let text = content.str else { return [] }
    return Array(UnsafeRawBufferPointer(start: text, count: Int(content.len)))
  }

  var number: Int64? {
    switch self {
    case .number(let number): number
    case .bytes(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
    default: nil
    }
  }

  var text: String? {
    if case .bytes(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  /// nil if it is no text.
  func withBytes<Value>(_ use: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value? {
    if case .bytes(let bytes) = self { try bytes.withUnsafeBytes(use) } else { nil }
  }

  /// nil if it is not UTF-8.
  var validText: String? {
    if case .bytes(let bytes) = self { String(validating: bytes, as: UTF8.self) } else { nil }
  }

  var list: [RedisReply] { if case .list(let all) = self { all } else { [] } }

  /// The reply of HGETALL.
  var pairs: [(name: String, value: String)] {
    let all = list
    return stride(from: 0, to: all.count - 1, by: 2).map {
      (all[$0].text ?? "", all[$0 + 1].text ?? "")
    }
  }
}
