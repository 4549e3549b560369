/// Checks a payload that somebody else made, and reports every finding in order.
struct PayloadCheck: ~Copyable {
  private let bytes: UnsafeRawBufferPointer
  private var reader: JSONReader
  private var names = KeySet()
  private var hasMemory = true
  /// If false, only errors are reported, no names are noted and nothing is allocated.
  private let findsWarnings: Bool
  /// `aps` has `content-available` and nothing else.
  private var isSilent = false
  private var isInAlert = false
  /// The alert's `title` or `body` is an object, which only a Live Activity may have.
  private var textOfActivity: PayloadFinding?

  typealias Report = (PayloadFinding) -> Void

  /// Returns false if there was no memory for the check.
  static func run(
    _ bytes: UnsafeRawBufferPointer, limit: Int, report: Report
  ) -> Bool {
    var check = PayloadCheck(bytes, findsWarnings: true)
    check.judge(limit, report)
    return check.hasMemory
  }

  /// Reports errors only, and returns whether the payload does no more than wake the app.
  static func findErrors(_ bytes: UnsafeRawBufferPointer, report: Report) -> Bool {
    var check = PayloadCheck(bytes, findsWarnings: false)
    check.judge(bytes.count, report)
    return check.isSilent
  }

  private mutating func judge(_ limit: Int, _ report: Report) {
    // A payload beyond every limit is not worth reading.
    if bytes.count < 1 << 30 {
      do throws(JSONFault) {
        try walk(report)
      } catch {
        var finding = PayloadFinding(.json, at: error.offset)
        finding.json = error.reason
        tell(finding, report)
      }
    }
    if bytes.count > limit { tell(PayloadFinding(.size, at: limit), report) }
  }

  private init(_ bytes: UnsafeRawBufferPointer, findsWarnings: Bool) {
    self.bytes = bytes
    self.findsWarnings = findsWarnings
    reader = JSONReader(bytes)
  }

  private mutating func walk(_ report: Report) throws(JSONFault) {
    let first = try reader.next()
    if first == .beginObject {
      try walkTop(report)
    } else {
      tell(PayloadFinding(.notAnObject, at: place(of: first)), report)
    }
    while try reader.next() != .end {}
  }

  @_optimize(speed)
  private mutating func walkTop(_ report: Report) throws(JSONFault) {
    var hasAps = false
    let start = reader.start
    while try reader.next() == .name {
      let text = reader.token
      let hasEscape = reader.hasEscape
      if findsWarnings, !isNew() { tell(finding(.duplicate, text), report) }
      let value = try reader.next()
      if Self.is(text, "aps", hasEscape) {
        hasAps = true
        if value == .beginObject {
          try walk(.aps, report)
          continue
        }
        var finding = PayloadFinding(.type, at: place(of: value), name: text)
        finding.type = .object
        tell(finding, report)
      } else if findsWarnings, belongsInAps(text, hasEscape) {
        tell(finding(.belongsInAps, text), report)
      }
      try skip(value)
    }
    if !hasAps { tell(PayloadFinding(.noAps, at: start), report) }
  }

  /// Checks one of Apple's objects, after its opening brace was read. They nest no deeper
  /// than the sound within `aps`.
  @_optimize(speed)
  @inline(never)
  private mutating func walk(_ object: PayloadObject, _ report: Report) throws(JSONFault) {
    var seen: UInt32 = 0
    var areKnown = true
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
        tell(finding, report)
        try skip(try reader.next())
        continue
      }
      let bit: UInt32 = 1 << UInt32(truncatingIfNeeded: key.number)
      if seen & bit != 0 { tell(finding(.duplicate, text), report) }
      seen |= bit
      try judge(key.type, text, report)
    }
    guard object == .aps else { return }
    isSilent = areKnown && seen == 1 << PayloadObject.wakingKey
    if let textOfActivity, seen & PayloadObject.keysOfActivities == 0 {
      tell(textOfActivity, report)
    }
  }

  @_optimize(speed)
  @inline(__always)
  private mutating func judge(
    _ type: PayloadType, _ name: UnsafeRawBufferPointer, _ report: Report
  ) throws(JSONFault) {
    let value = try reader.next()
    guard type.holds(value) else {
      if isInAlert, value == .beginObject, Self.isText(name) {
        if textOfActivity == nil { textOfActivity = wrong(type, value, name) }
        return try skip(value)
      }
      tell(wrong(type, value, name), report)
      return try skip(value)
    }
    switch type {
    case .alert, .sound:
      guard value == .beginObject else { return }
      isInAlert = type == .alert
      defer { isInAlert = false }
      try walk(isInAlert ? .alert : .sound, report)
    case .strings:
      let depth = reader.depth
      while true {
        let element = try reader.next()
        if reader.depth < depth { break }
        if element != .string {
          tell(PayloadFinding(.elementType, at: reader.start, name: name), report)
        }
        try skip(element)
      }
    case .one:
      if reader.end &- reader.start == 1, bytes[reader.start] == 0x31 { return }
      tell(PayloadFinding(.notOne, at: reader.start, name: name), report)
    case .level:
      let level = KeyName(reader.token)
      if level.equals("passive") || level.equals("active") || level.equals("time-sensitive")
        || level.equals("critical")
      {
        return
      }
      tell(PayloadFinding(.unknownLevel, at: place(of: value), name: name), report)
    default: try skip(value)
    }
  }

  /// A key that may have an object in a Live Activity, with the keys of a localization.
  @inline(never)
  private static func isText(_ name: UnsafeRawBufferPointer) -> Bool {
    let key = KeyName(name)
    return key.equals("title") || key.equals("body")
  }

  /// The finding for a value of the wrong type.
  @inline(never)
  private func wrong(
    _ type: PayloadType, _ value: JSONReader.Token, _ name: UnsafeRawBufferPointer
  ) -> PayloadFinding {
    let isArray = type == .alert && value == .beginArray
    var finding = PayloadFinding(isArray ? .alertIsArray : .type, at: place(of: value), name: name)
    finding.type = type
    return finding
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
  private static func `is`(
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
  private func tell(_ finding: PayloadFinding, _ report: Report) {
    if finding.isError || findsWarnings { report(finding) }
  }
}
