import CHiredis

/// A command with its arguments in one buffer, because a batch has thousands of them.
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

  /// The first argument, which is the key in all commands that name one.
  var key: String {
    ends.count < 2 ? "" : String(decoding: bytes[ends[0]..<ends[1]], as: UTF8.self)
  }

  /// Appends the command in RESP: the number of words, and each word after its length.
  func write(to out: inout [UInt8]) {
    // Lengths have up to seven digits, and the header of a word needs five more bytes.
    out.reserveCapacity(out.count + bytes.count + 12 * ends.count + 16)
    Self.head(UInt8(ascii: "*"), ends.count, &out)
    bytes.withUnsafeBufferPointer { bytes in
      var start = 0
      for end in ends {
        Self.head(UInt8(ascii: "$"), end - start, &out)
        out.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
        out.append(0x0D)
        out.append(0x0A)
        start = end
      }
    }
  }

  private static func head(_ kind: UInt8, _ count: Int, _ out: inout [UInt8]) {
    out.append(kind)
    if count < 10 {
      out.append(0x30 + UInt8(count))
    } else {
      var divisor = 10
      while count / divisor >= 10 { divisor *= 10 }
      while divisor > 0 {
        out.append(0x30 + UInt8(count / divisor % 10))
        divisor /= 10
      }
    }
    out.append(0x0D)
    out.append(0x0A)
  }
}

/// A Redis reply.
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

  /// A script's count; nil if it is not a plausible number.
  var count: Int? { number.flatMap { (0...1 << 40).contains($0) ? Int($0) : nil } }

  var text: String? {
    if case .bytes(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  /// nil if it is not a string.
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
