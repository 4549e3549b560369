import JSON

/// Outcomes of many notifications as a JSON array, which is one outcome record in Redis. Devices of
/// an entry with the same outcome share an element, because each byte is copied several times in
/// Redis.
struct OutcomeList {
  /// The values that the devices of an element share.
  private struct Shared {
    var number: Int64
    var kind: PushOutcome.Kind
    var httpStatus: Int
    var reason: String
  }

  /// The bytes of most devices, so that the list is allocated once.
  private static let usualDevice = 128

  private(set) var bytes: [UInt8] = [UInt8(ascii: "[")]
  private(set) var count = 0
  private var shared: Shared?

  /// Reserves memory for this many devices.
  init(of count: Int) { bytes.reserveCapacity(Self.usualDevice * (count + 1)) }

  mutating func add(_ outcome: UnsafePointer<PushOutcome>, of update: EntryUpdate) {
    if let shared, shared.number == update.number, shared.kind == outcome.pointee.kind,
      shared.httpStatus == outcome.pointee.httpStatus, shared.reason == outcome.pointee.reason
    {
      bytes.append(UInt8(ascii: ","))
    } else {
      share(
        Shared(
          number: update.number, kind: outcome.pointee.kind, httpStatus: outcome.pointee.httpStatus,
          reason: outcome.pointee.reason), of: update)
    }
    count += 1
    outcome.pointee.token.withBytes { token in
      outcome.pointee.apnsID.withBytes { addDevice(token, outcome.pointee.position, $0) }
    }
  }

  private mutating func share(_ shared: Shared, of update: EntryUpdate) {
    if count > 0 { Self.add("]},", to: &bytes) }
    self.shared = shared
    Self.add("{\"id\":", to: &bytes)
    Self.addText(update.id, to: &bytes)
    Self.add(",\"deliveries\":", to: &bytes)
    Self.add(update.deliveries, to: &bytes)
    Self.add(",\"outcome\":\"", to: &bytes)
    bytes.append(contentsOf: shared.kind.rawValue.utf8)
    Self.add("\",\"reason\":", to: &bytes)
    Self.addText(shared.reason, to: &bytes)
    Self.add(",\"http_status\":", to: &bytes)
    Self.add(shared.httpStatus, to: &bytes)
    if let traceparent = update.traceparent {
      Self.add(",\"traceparent\":", to: &bytes)
      Self.addText(traceparent, to: &bytes)
    }
    Self.add(",\"devices\":[", to: &bytes)
  }

  private mutating func addDevice(
    _ token: UnsafeBufferPointer<UInt8>, _ position: Int, _ id: UnsafeBufferPointer<UInt8>
  ) {
    bytes.append(UInt8(ascii: "["))
    Self.addText(token, to: &bytes)
    bytes.append(UInt8(ascii: ","))
    Self.add(position, to: &bytes)
    bytes.append(UInt8(ascii: ","))
    Self.addText(id, to: &bytes)
    bytes.append(UInt8(ascii: "]"))
  }

  mutating func end() {
    if count > 0 { Self.add("]}", to: &bytes) }
    bytes.append(UInt8(ascii: "]"))
  }

  private static func add(_ text: StaticString, to out: inout [UInt8]) {
    out.append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private static func add(_ number: Int, to out: inout [UInt8]) {
    if (0..<1000).contains(number) {
      if number >= 100 { out.append(0x30 + UInt8(number / 100)) }
      if number >= 10 { out.append(0x30 + UInt8(number / 10 % 10)) }
      out.append(0x30 + UInt8(number % 10))
    } else {
      out.append(contentsOf: String(number).utf8)
    }
  }

  private static func addText(_ text: String, to out: inout [UInt8]) {
    var text = text
    text.withUTF8 { addText($0, to: &out) }
  }

  private static func addText(_ text: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
    guard JSONLiteral.isPlain(UnsafeRawBufferPointer(text)) else {
      out.append(contentsOf: JSONLiteral.string(String(decoding: text, as: UTF8.self)).utf8)
      return
    }
    out.append(UInt8(ascii: "\""))
    out.append(contentsOf: text)
    out.append(UInt8(ascii: "\""))
  }

  /// Parses such a list; empty if it is malformed.
  static func read(_ json: String) -> [PushOutcome] { elements(json).flatMap(\.outcomes) }

  /// Outcomes of an entry.
  struct Element {
    var id: String
    var deliveries: Int
    var traceparent: String?
    var outcomes: [PushOutcome]
  }

  static func elements(_ json: String) -> [Element] {
    let reader = RawJSON(json)
    guard let places = try? reader.elements() else { return [] }
    return places.compactMap { element(at: $0, reader) }
  }

  private static func element(at place: Range<Int>, _ reader: RawJSON) -> Element? {
    var members: [RawJSON.Member] = []
    guard (try? reader.members(of: place, into: &members)) != nil else { return nil }
    func value(_ name: String) -> String? {
      Array(name.utf8).withUnsafeBufferPointer { reader.last($0, of: members, members.indices) }
        .map { text($0.value, reader) }
    }
    guard let kind = value("outcome").flatMap({ PushOutcome.Kind(rawValue: $0) }),
      let devices = value("devices")
    else { return nil }
    let (reason, status) = (value("reason") ?? "", value("http_status").flatMap { Int($0) } ?? 0)
    let list = RawJSON(devices)
    let outcomes: [PushOutcome] = ((try? list.elements()) ?? []).compactMap { place in
      let device = RawJSON(text(place, list))
      guard let parts = try? device.elements(), parts.count == 3,
        let position = Int(text(parts[1], device))
      else { return nil }
      var outcome = PushOutcome(
        position: position, token: WrittenToken(text(parts[0], device)), kind: kind, reason: reason)
      outcome.httpStatus = status
      outcome.apnsID = PushID(text(parts[2], device))
      return outcome
    }
    return Element(
      id: value("id") ?? "", deliveries: value("deliveries").flatMap { Int($0) } ?? 0,
      traceparent: value("traceparent"), outcomes: outcomes)
  }

  /// The text of a string; any other value as it is written.
  private static func text(_ place: Range<Int>, _ reader: RawJSON) -> String {
    reader.text(place) ?? String(decoding: reader.bytes[place], as: UTF8.self)
  }
}
