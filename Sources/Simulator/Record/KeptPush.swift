import BinaryServer

/// A kept notification in its place, which is valid only while the closure runs that got it. A search
/// reads its texts there and copies none.
package struct KeptPush {
  /// The fields of the same size for every notification.
  struct Record {
    enum Form {
      case binary(command: UInt8, identifier: UInt32?, expiry: UInt32?, priority: UInt8?)
      case http2(stream: Int32)
    }

    var number: Int
    var time: Int64
    var connection: Int
    var form: Form
    var payload: Range<Int>
    var isCut: Bool
    var outcome: RecentPush.Outcome
    var status: Int16?
    var isDuplicate: Bool
    /// How many devices a broadcast reached.
    var devices: Int32
    /// Where its texts begin.
    var start: Int
  }

  /// In the order in which they lie; the headers follow.
  package enum Text: Int, Sendable {
    case token, bytes, identifier, uniqueIdentifier, reason, topic, channel
  }

  private let record: UnsafePointer<Record>
  private let texts: UnsafePointer<UInt8>

  init(_ record: UnsafePointer<Record>, _ texts: UnsafePointer<UInt8>) {
    self.record = record
    self.texts = texts + record.pointee.start
  }

  package var number: Int { record.pointee.number }
  package var connection: Int { record.pointee.connection }
  package var outcome: RecentPush.Outcome { record.pointee.outcome }
  package var status: Int? { record.pointee.status.map(Int.init) }
  package var isDuplicate: Bool { record.pointee.isDuplicate }
  package var isHTTP2: Bool { if case .http2 = record.pointee.form { true } else { false } }

  package var token: UnsafeBufferPointer<UInt8> { self[.token] ?? Self.none }

  package var payload: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: (self[.bytes] ?? Self.none)[record.pointee.payload])
  }

  private static var none: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: nil, count: 0) }

  /// The bytes of a text; nil without it.
  package subscript(_ text: Text) -> UnsafeBufferPointer<UInt8>? {
    var rest = PackedTexts(texts)
    for _ in 0..<text.rawValue { _ = rest.next() }
    return rest.next()
  }

  /// With its own copies of all texts.
  package var copy: RecentPush {
    var texts = PackedTexts(texts)
    let (token, bytes, identifier) = (texts.bytes(), texts.bytes(), texts.text())
    let (uniqueIdentifier, reason, topic) = (texts.text(), texts.text(), texts.text())
    let channel = texts.text()
    let record = record.pointee
    var push = RecentPush(
      number: record.number, time: record.time, connection: record.connection,
      form: form(identifier, &texts), topic: topic, token: token, bytes: bytes,
      payload: record.payload)
    (push.isCut, push.isDuplicate) = (record.isCut, record.isDuplicate)
    (push.outcome, push.status, push.reason) = (record.outcome, status, reason)
    push.uniqueIdentifier = uniqueIdentifier
    push.broadcast = channel.map {
      RecentPush.Broadcast(channel: $0, devices: Int(record.devices))
    }
    return push
  }

  private func form(_ identifier: String?, _ texts: inout PackedTexts) -> RecentPush.Form {
    switch record.pointee.form {
    case .binary(let command, let identifier, let expiry, let priority):
      return .binary(command: command, identifier: identifier, expiry: expiry, priority: priority)
    case .http2(let stream):
      var headers: [RecentPush.Header] = []
      while let name = texts.text() {
        headers.append(RecentPush.Header(name: name, value: texts.text() ?? ""))
      }
      return .http2(stream: Int(stream), identifier: identifier ?? "", headers: headers)
    }
  }
}

extension KeptPush.Record {
  /// Its texts are packed from `start` on.
  init(_ push: RecentPush, start: Int) {
    switch push.form {
    case .binary(let command, let identifier, let expiry, let priority):
      form = .binary(command: command, identifier: identifier, expiry: expiry, priority: priority)
    case .http2(let stream, _, _): form = .http2(stream: Int32(truncatingIfNeeded: stream))
    }
    (number, time, connection) = (push.number, push.time, push.connection)
    (payload, isCut, isDuplicate) = (push.payload, push.isCut, push.isDuplicate)
    (outcome, status) = (push.outcome, push.status.map { Int16(truncatingIfNeeded: $0) })
    devices = Int32(truncatingIfNeeded: push.broadcast?.devices ?? 0)
    self.start = start
  }
}
