import Foundation
import Testing

/// The files of Tests/Vectors. Their expected results were written without this library.
enum Vectors {
  static func frames() throws -> [FrameVector] { try load("frames") }
  static func errorPackets() throws -> [ErrorPacketVector] { try load("error-packets") }
  static func feedback() throws -> [FeedbackVector] { try load("feedback") }
  static func tokens() throws -> [TokenVector] { try load("tokens") }
  static func strings() throws -> [StringsVector] { try load("strings") }
  static func stringsFormats() throws -> [StringsFormatVector] { try load("strings-formats") }
  static func json() throws -> [JSONVector] { try load("json") }
  static func reasons() throws -> [ReasonVector] { try load("reasons") }
  static func answerBodies() throws -> [AnswerBodyVector] { try load("answer-bodies") }

  private struct File<Vector: Decodable>: Decodable {
    var tests: [Vector]
  }

  private static func load<Vector: Decodable>(_ name: String) throws -> [Vector] {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = tests.appendingPathComponent("Vectors/\(name).json")
    return try JSONDecoder().decode(File<Vector>.self, from: Data(contentsOf: file)).tests
  }
}

/// The expected result of a vector's bytes.
enum Decision: String, Decodable {
  case valid, invalid
  /// More bytes are needed to decide.
  case incomplete
}

protocol Vector: Decodable, Sendable, CustomTestStringConvertible {
  var name: String { get }
  var hex: [UInt8] { get }
  var result: Decision { get }
}

extension Vector {
  var testDescription: String { name }
}

struct FrameVector: Vector {
  struct Limits: Decodable {
    var legacyPayload: Int?
    var framedPayload: Int?
  }

  struct Frame: Decodable, Equatable {
    var command: UInt8
    @Hex var token: [UInt8]
    @Hex var payload: [UInt8]
    var identifier: UInt32?
    var expiry: UInt32?
    var priority: UInt8?
    var length: Int
  }

  struct Fault: Decodable, Equatable {
    var reason: String
    var offset: Int
    var identifier: UInt32?
    var status: UInt8
    /// The number of bytes that decides.
    var after: Int
  }

  var name: String
  @Hex var hex: [UInt8]
  var result: Decision
  var limits: Limits?
  var canonical: Bool?
  var frame: Frame?
  var error: Fault?
}

/// Where the bytes are invalid.
struct ByteFault: Decodable, Equatable {
  var reason: String
  var offset: Int
}

struct ErrorPacketVector: Vector {
  struct Packet: Decodable, Equatable {
    var status: UInt8
    var identifier: UInt32
  }

  var name: String
  @Hex var hex: [UInt8]
  var result: Decision
  var packet: Packet?
  var error: ByteFault?
}

struct FeedbackVector: Vector {
  struct Tuple: Decodable, Equatable {
    var timestamp: UInt32
    @Hex var token: [UInt8]
  }

  var name: String
  @Hex var hex: [UInt8]
  var result: Decision
  var tuples: [Tuple]
  var rest: Int?
  var error: ByteFault?
}

struct TokenVector: Vector {
  struct Fault: Decodable, Equatable {
    var reason: String
    var position: Int?
    var byte: UInt8?
  }

  var name: String
  @Hex var hex: [UInt8]
  var result: Decision
  var token: String?
  var error: Fault?
}

struct StringsVector: Vector {
  var name: String
  @Hex var hex: [UInt8]
  var result: Decision
}

struct StringsFormatVector: Vector {
  var name: String
  @Hex var hex: [UInt8]
  var result: Decision
  var args: [String]
  var formatted: String?
}

struct JSONVector: Vector {
  var name: String
  @Hex var hex: [UInt8]
  var result: Decision
  var compact: Hex?
}

struct ReasonVector: Decodable, Sendable, CustomTestStringConvertible {
  var name: String
  var number: UInt32
  var status: Int
  var reject: UInt8
  var remedy: String
  var testDescription: String { name }
}

struct AnswerBodyVector: Vector {
  var name: String
  @Hex var hex: [UInt8]
  var result: Decision
  var reason: String
  var text: String
  var timestamp: Int64
}

/// Bytes that JSON holds as hex.
@propertyWrapper
struct Hex: Decodable, Equatable, Sendable {
  var wrappedValue: [UInt8]

  init(wrappedValue: [UInt8]) { self.wrappedValue = wrappedValue }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    var digits = Array(try container.decode(String.self).utf8)[...]
    wrappedValue = []
    while !digits.isEmpty {
      guard digits.count >= 2,
        let byte = UInt8(String(decoding: digits.prefix(2), as: UTF8.self), radix: 16)
      else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "not hex") }
      wrappedValue.append(byte)
      digits = digits.dropFirst(2)
    }
  }
}

extension Hex: CustomStringConvertible {
  /// Short enough to read in a failure message.
  var description: String {
    let digits = wrappedValue.prefix(40).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return digits.joined() + (wrappedValue.count > 40 ? "… (\(wrappedValue.count) bytes)" : "")
  }
}
