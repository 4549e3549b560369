/// Outcomes of many notifications as one JSON array, which is a record in Redis.
struct OutcomeList {
  private(set) var bytes: [UInt8] = [UInt8(ascii: "[")]
  private(set) var count = 0

  mutating func add(_ outcome: PushOutcome, of verdict: Verdict) {
    if count > 0 { bytes.append(UInt8(ascii: ",")) }
    count += 1
    Self.add("{\"id\":", to: &bytes)
    Self.addText(verdict.id, to: &bytes)
    Self.add(",\"position\":", to: &bytes)
    Self.add(outcome.position, to: &bytes)
    Self.add(",\"token\":", to: &bytes)
    Self.addText(outcome.token, to: &bytes)
    Self.add(",\"outcome\":\"", to: &bytes)
    bytes.append(contentsOf: outcome.end.rawValue.utf8)
    Self.add("\",\"reason\":", to: &bytes)
    Self.addText(outcome.reason, to: &bytes)
    Self.add(",\"http_status\":", to: &bytes)
    Self.add(outcome.httpStatus, to: &bytes)
    Self.add(",\"apns_id\":", to: &bytes)
    Self.addText(outcome.apnsID, to: &bytes)
    Self.add(",\"deliveries\":", to: &bytes)
    Self.add(verdict.deliveries, to: &bytes)
    bytes.append(UInt8(ascii: "}"))
  }

  mutating func end() { bytes.append(UInt8(ascii: "]")) }

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
    let isPlain = text.withUTF8 { bytes in
      guard RawJSON.isPlain(UnsafeRawBufferPointer(bytes)) else { return false }
      out.append(UInt8(ascii: "\""))
      out.append(contentsOf: bytes)
      out.append(UInt8(ascii: "\""))
      return true
    }
    if !isPlain { out.append(contentsOf: RawJSON.quoted(text).utf8) }
  }

  /// What `json` has; what is no such list has none.
  static func read(_ json: String) -> [PushOutcome] {
    var reader = RawJSON(json)
    guard let places = try? reader.elements() else { return [] }
    var members: [RawJSON.Member] = []
    return places.compactMap { place in
      members.removeAll(keepingCapacity: true)
      guard (try? reader.members(of: place, into: &members)) != nil else { return nil }
      return outcome { name in
        guard let member = members.last(where: { reader.isName(of: $0, Array(name.utf8)) }) else {
          return nil
        }
        let text = (try? reader.text(member.value)) ?? nil
        return String(decoding: text ?? reader.bytes[member.value], as: UTF8.self)
      }
    }
  }

  /// An outcome as it is written in a record, by the names of its fields.
  static func outcome(_ value: (String) -> String?) -> PushOutcome? {
    guard let position = value("position").flatMap({ Int($0) }),
      let end = value("outcome").flatMap({ PushOutcome.End(rawValue: $0) })
    else { return nil }
    var outcome = PushOutcome(
      position: position, token: value("token") ?? "", end: end, reason: value("reason") ?? "")
    outcome.httpStatus = value("http_status").flatMap { Int($0) } ?? 0
    outcome.apnsID = value("apns_id") ?? ""
    return outcome
  }
}
