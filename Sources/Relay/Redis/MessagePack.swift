/// Encodes the arguments and replies of scripts as one string: Redis has MessagePack built into
/// Lua, and decodes it several times as fast as a command with as many arguments.
enum MessagePack {
  struct Writer {
    private(set) var bytes: [UInt8] = []

    mutating func addList(of count: Int) {
      if count < 16 {
        bytes.append(0x90 | UInt8(truncatingIfNeeded: count))
      } else if count < 1 << 16 {
        add(head: 0xDC, count, bytes: 2)
      } else {
        add(head: 0xDD, count, bytes: 4)
      }
    }

    mutating func add(_ text: String) {
      var text = text
      text.withUTF8 { add($0) }
    }

    mutating func add(_ text: UnsafeBufferPointer<UInt8>) {
      if text.count < 32 {
        bytes.append(0xA0 | UInt8(truncatingIfNeeded: text.count))
      } else if text.count < 1 << 16 {
        add(head: 0xDA, text.count, bytes: 2)
      } else {
        add(head: 0xDB, text.count, bytes: 4)
      }
      bytes.append(contentsOf: text)
    }

    /// Written as a string, so that Lua does not turn it into a floating point number.
    mutating func add(_ number: Int64) {
      if (0..<10).contains(number) {
        bytes.append(0xA1)
        bytes.append(0x30 + UInt8(truncatingIfNeeded: number))
      } else {
        add(String(number))
      }
    }

    mutating func add(_ number: Int) { add(Int64(number)) }

    mutating func add(written other: Writer) { bytes += other.bytes }

    private mutating func add(head: UInt8, _ count: Int, bytes size: Int) {
      bytes.append(head)
      for place in stride(from: 8 * (size - 1), through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: count >> place))
      }
    }
  }

  /// Reads a script's reply: lists, strings and integers. Throws for any other type.
  struct Reader {
    struct Fault: Error {}

    private let bytes: UnsafeRawBufferPointer
    private var at = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { at >= bytes.count }

    /// Whether the next value is an integer that is not written as a string.
    var isAtNumber: Bool {
      guard at < bytes.count else { return false }
      return switch bytes[at] {
      case 0x00...0x7F, 0xCC...0xCF, 0xD3: true
      default: false
      }
    }

    mutating func list() throws(Fault) -> Int {
      let head = try byte()
      return switch head {
      case 0x90...0x9F: Int(head & 0x0F)
      case 0xDC: try number(bytes: 2)
      case 0xDD: try number(bytes: 4)
      // Lua cannot distinguish an empty list, and writes an empty map.
      case 0x80: 0
      default: throw Fault()
      }
    }

    /// The result points into the bytes that are being read.
    mutating func text() throws(Fault) -> UnsafeRawBufferPointer {
      let head = try byte()
      let count =
        switch head {
        case 0xA0...0xBF: Int(head & 0x1F)
        case 0xD9, 0xC4: try number(bytes: 1)
        case 0xDA, 0xC5: try number(bytes: 2)
        case 0xDB, 0xC6: try number(bytes: 4)
        default: throw Fault()
        }
      guard count <= bytes.count - at else { throw Fault() }
      defer { at += count }
      return UnsafeRawBufferPointer(rebasing: bytes[at..<at + count])
    }

    private mutating func byte() throws(Fault) -> UInt8 {
      guard at < bytes.count else { throw Fault() }
      defer { at += 1 }
      return bytes[at]
    }

    private mutating func number(bytes count: Int) throws(Fault) -> Int {
      var value = 0
      for _ in 0..<count { value = value << 8 | Int(try byte()) }
      return value
    }

    /// An integer, written as one or as a string.
    mutating func number() throws(Fault) -> Int64 {
      guard at < bytes.count else { throw Fault() }
      switch bytes[at] {
      case 0x00...0x7F: return Int64(try byte())
      case 0xCC: return try unsigned(1)
      case 0xCD: return try unsigned(2)
      case 0xCE: return try unsigned(4)
      case 0xCF, 0xD3: return try unsigned(8)
      default:
        guard let value = Int64(String(decoding: try text(), as: UTF8.self)) else { throw Fault() }
        return value
      }
    }

    private mutating func unsigned(_ count: Int) throws(Fault) -> Int64 {
      at += 1
      return Int64(try number(bytes: count))
    }
  }
}
