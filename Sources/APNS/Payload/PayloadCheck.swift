/// Checks a foreign payload, and reports every finding in order.
struct PayloadCheck: ~Copyable {
  private let bytes: UnsafeRawBufferPointer
  private var reader: JSONReader
  private var names = KeySet()
  private var hasMemory = true
  /// If false, only errors are reported, no names are noted and nothing is allocated.
  private let findsWarnings: Bool
  private var traits = PayloadTraits()
  /// The alert's `title` or `body` is an object, which only a Live Activity may have.
  private var textOfActivity: PayloadFinding?
  /// The alert has a `sound`, which only a Live Activity may have.
  private var soundOfActivity: PayloadFinding?
  private var event = ActivityEvent.unknown

  typealias Report = (PayloadFinding) -> Void

  /// Returns false if there was no memory for the check.
  static func run(
    _ bytes: UnsafeRawBufferPointer, limit: Int, report: Report
  ) -> Bool {
    var check = PayloadCheck(bytes, findsWarnings: true)
    check.validate(limit, report)
    return check.hasMemory
  }

  /// Reports errors only, and returns the payload's traits.
  static func findErrors(_ bytes: UnsafeRawBufferPointer, report: Report) -> PayloadTraits {
    var check = PayloadCheck(bytes, findsWarnings: false)
    check.validate(bytes.count, report)
    return check.traits
  }

  private mutating func validate(_ limit: Int, _ report: Report) {
    // A payload beyond every limit is not worth reading.
    if bytes.count < 1 << 30 {
      do throws(JSONFault) {
        try walk(report)
      } catch {
        var finding = PayloadFinding(.json, at: error.offset)
        finding.json = error.reason
        found(finding, report)
      }
    }
    if bytes.count > limit { found(PayloadFinding(.size, at: limit), report) }
  }

  private init(_ bytes: UnsafeRawBufferPointer, findsWarnings: Bool) {
    self.bytes = bytes
    self.findsWarnings = findsWarnings
    reader = JSONReader(bytes)
  }

  private mutating func walk(_ report: Report) throws(JSONFault) {
    if reader.offset > 0 { found(PayloadFinding(.mark, at: 0), report) }
    let first = try reader.next()
    if first == .beginObject {
      try walkTop(report)
    } else {
      found(
        PayloadFinding(holdsJSON(first) ? .encodedTwice : .notAnObject, at: place(of: first)),
        report)
    }
    while try reader.next() != .end {}
  }

  @_optimize(speed)
  private mutating func walkTop(_ report: Report) throws(JSONFault) {
    var needsNoAps = false
    let start = reader.start
    var management: PayloadFinding?
    traits.isEmpty = true
    while try reader.next() == .name {
      traits.isEmpty = false
      let text = reader.token
      let hasEscape = reader.hasEscape
      if findsWarnings, !isNew() { found(finding(.duplicate, text), report) }
      let value = try reader.next()
      if Self.is(text, "aps", hasEscape) {
        traits.hasAps = true
        if value == .beginObject {
          try walk(.aps, report)
          continue
        }
        found(wrong(.object, value, text), report)
      } else if value == .string, Self.is(text, "mdm", hasEscape) {
        traits.hasMDM = true
        management = finding(.besideMDM, text)
      } else if findsWarnings {
        if belongsInAps(text, hasEscape) { found(finding(.belongsInAps, text), report) }
        // Payloads of device management and file providers are not notifications.
        if value == .string, Self.is(text, "container-identifier", hasEscape) { needsNoAps = true }
      }
      try skip(value)
    }
    if traits.hasAps, let management { found(management, report) }
    if !traits.hasAps, !traits.hasMDM, !needsNoAps {
      found(PayloadFinding(.noAps, at: start), report)
    }
  }

  /// Checks one of Apple's objects, after its opening brace was read. They nest no deeper
  /// than a text within the alert.
  @_optimize(speed)
  @inline(never)
  private mutating func walk(_ object: PayloadObject, _ report: Report) throws(JSONFault) {
    var seen: UInt32 = 0
    /// A bit for each misspelt key; that is finding enough.
    var meant: UInt32 = 0
    var areKnown = true
    let start = reader.start
    while try reader.next() == .name {
      let text = reader.token
      guard let key = reader.hasEscape ? KeyName(text).find(in: object) : object.find(text) else {
        areKnown = false
        guard findsWarnings else {
          try skip(try reader.next())
          continue
        }
        let name = KeyName(text)
        let isOfAlert = object == .aps && name.find(in: .alert) != nil
        var finding = finding(isOfAlert ? .belongsInAlert : .unknownKey, text)
        finding.like = object.nearest(to: name)
        if let like = finding.like, let key = object.find(like) { meant |= Self.bit(key.number) }
        found(finding, report)
        try skip(try reader.next())
        continue
      }
      let bit = Self.bit(key.number)
      if seen & bit != 0 { found(finding(.duplicate, text), report) }
      seen |= bit
      if object == .alert, key.number == PayloadObject.soundOfAlert, soundOfActivity == nil {
        soundOfActivity = finding(.belongsInAps, text)
      }
      try validate(key.type, text, report)
    }
    if object == .text { foundMissing(.text, 1 & ~(seen | meant), start, report) }
    guard object == .aps else { return }
    traits.keys |= seen
    traits.onlyWakes = areKnown && seen == Self.bit(PayloadObject.wakingKey)
    if seen & PayloadObject.keysOfActivities != 0 {
      foundMissing(.aps, PayloadObject.needed(for: event) & ~(seen | meant), start, report)
    } else {
      if let textOfActivity { found(textOfActivity, report) }
      if let soundOfActivity { found(soundOfActivity, report) }
    }
  }

  private static func bit(_ number: Int) -> UInt32 { 1 << UInt32(truncatingIfNeeded: number) }

  /// Reports each missing key of the bits, at the object's beginning.
  @inline(never)
  private func foundMissing(
    _ object: PayloadObject, _ keys: UInt32, _ start: Int, _ report: Report
  ) {
    guard keys != 0, findsWarnings else { return }
    for number in 0..<32 where keys & Self.bit(number) != 0 {
      found(PayloadFinding(.missing, at: start, name: object.name(number)), report)
    }
  }

  @_optimize(speed)
  @inline(__always)
  private mutating func validate(
    _ type: PayloadType, _ name: UnsafeRawBufferPointer, _ report: Report
  ) throws(JSONFault) {
    let value = try reader.next()
    guard type.holds(value) else {
      found(wrong(type, value, name), report)
      return try skip(value)
    }
    if value == .string, reader.hasEscape { validateEscapes(name, report) }
    switch type {
    case .alert, .sound, .text:
      guard value == .beginObject else { return }
      if type == .text, textOfActivity == nil { textOfActivity = wrong(type, value, name) }
      try walk(type == .alert ? .alert : type == .sound ? .sound : .text, report)
    case .strings:
      let depth = reader.depth
      while true {
        let element = try reader.next()
        if reader.depth < depth { break }
        if element != .string {
          found(PayloadFinding(.elementType, at: reader.start, name: name), report)
        } else if reader.hasEscape {
          validateEscapes(name, report)
        }
        try skip(element)
      }
    case .one:
      if reader.end &- reader.start == 1, bytes[reader.start] == 0x31 { return }
      found(PayloadFinding(.notOne, at: reader.start, name: name), report)
    case .level:
      let level = KeyName(reader.token)
      if level.equals("passive") || level.equals("active") || level.equals("time-sensitive")
        || level.equals("critical")
      {
        return
      }
      found(PayloadFinding(.unknownLevel, at: place(of: value), name: name), report)
    case .event:
      let word = KeyName(reader.token)
      if word.equals("start") {
        event = .start
      } else if word.equals("update") {
        event = .update
      } else if word.equals("end") {
        event = .end
      } else {
        found(PayloadFinding(.unknownEvent, at: place(of: value), name: name), report)
      }
    case .share:
      if WholeNumber.isShare(reader.token) { return }
      found(PayloadFinding(.volume, at: reader.start, name: name), report)
    case .badge:
      if Self.isBadge(reader.token) { return }
      found(PayloadFinding(.badge, at: reader.start, name: name), report)
    case .time, .timeOrNow:
      guard let time = Self.unlikely(reader.token, type) else { return }
      var finding = PayloadFinding(.time, at: reader.start, name: name)
      finding.time = time
      found(finding, report)
    case .yes:
      // JSON's literals are true and false.
      if reader.end &- reader.start == 4 { return }
      found(PayloadFinding(.notTrue, at: reader.start, name: name), report)
    default: try skip(value)
    }
  }

  /// The finding for a value of the wrong type.
  @inline(never)
  private func wrong(
    _ type: PayloadType, _ value: JSONReader.Token, _ name: UnsafeRawBufferPointer
  ) -> PayloadFinding {
    let isArray = type == .alert && value == .beginArray
    let isTwice = type == .object && holdsJSON(value)
    var finding = PayloadFinding(
      isArray ? .alertIsArray : isTwice ? .encodedTwice : .type, at: place(of: value), name: name)
    finding.type = type
    return finding
  }

  /// Whether the value is a string that contains a JSON object.
  private func holdsJSON(_ value: JSONReader.Token) -> Bool {
    value == .string && reader.hasEscape && reader.token[0] == UInt8(ascii: "{")
  }

  static func isBadge(_ number: UnsafeRawBufferPointer) -> Bool {
    (0...Int64(Int32.max)).contains(WholeNumber.read(number))
  }

  /// Nil if the number may be a time. A dismissal in the past means now.
  static func unlikely(_ number: UnsafeRawBufferPointer, _ type: PayloadType) -> UnlikelyTime? {
    let number = WholeNumber.read(number)
    return type == .timeOrNow && number == 0 ? nil : UnlikelyTime(number)
  }

  /// Reports text that a device would show with its escapes, such as a backslash and an n.
  @inline(never)
  private func validateEscapes(_ name: UnsafeRawBufferPointer, _ report: Report) {
    guard findsWarnings, let at = JSONText.escapedTwice(in: reader.token) else { return }
    found(PayloadFinding(.escapedTwice, at: reader.start &+ at, name: name), report)
  }

  @inline(__always)
  private mutating func skip(_ first: JSONReader.Token) throws(JSONFault) {
    try reader.skip(first)
  }

  private mutating func isNew() -> Bool {
    guard let base = bytes.baseAddress else { return true }
    do throws(PayloadFault) {
      return try names.insert(
        base, at: reader.start &- 1, length: reader.end &- reader.start &+ 2)
    } catch {
      hasMemory = false
      return true
    }
  }

  /// Custom keys may have any name, but these names most likely belong in `aps`.
  private func belongsInAps(_ name: UnsafeRawBufferPointer, _ hasEscape: Bool) -> Bool {
    Self.is(name, "alert", hasEscape) || Self.is(name, "badge", hasEscape)
      || Self.is(name, "content-available", hasEscape)
      || Self.is(name, "mutable-content", hasEscape)
  }

  @inline(__always)
  static func `is`(
    _ name: UnsafeRawBufferPointer, _ known: StaticString, _ hasEscape: Bool
  ) -> Bool {
    if hasEscape { return KeyName(name).equals(known) }
    guard name.count == known.utf8CodeUnitCount else { return false }
    // The first byte nearly always decides.
    for index in 0..<name.count where name[index] != known.utf8Start[index] { return false }
    return true
  }

  /// Where a value begins, including its quotation mark.
  private func place(of token: JSONReader.Token) -> Int {
    token == .string ? reader.start &- 1 : reader.start
  }

  /// A finding about a key; `name` is part of the bytes.
  @inline(never)
  private func finding(
    _ reason: PayloadFinding.Reason, _ name: UnsafeRawBufferPointer
  ) -> PayloadFinding {
    var offset = 0
    if let base = bytes.baseAddress, let start = name.baseAddress { offset = start - base &- 1 }
    return PayloadFinding(reason, at: offset, name: name)
  }

  /// Every finding is reported here.
  @inline(never)
  private func found(_ finding: PayloadFinding, _ report: Report) {
    if finding.isError || findsWarnings { report(finding) }
  }
}
