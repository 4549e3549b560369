/// Judges a payload that somebody else made, and tells whatever it finds, in order.
struct PayloadCheck: ~Copyable {
  private let bytes: UnsafeRawBufferPointer
  private var reader: JSONReader
  private var names = KeySet()
  private var hasMemory = true
  /// Else errors only, for which no names are noted and nothing is allocated.
  private let findsWarnings: Bool
  /// `aps` has `content-available` and nothing else.
  private var isSilent = false

  typealias Report = (PayloadFinding) -> Void

  /// False where there was no memory to do it.
  static func run(
    _ bytes: UnsafeRawBufferPointer, limit: Int, report: Report
  ) -> Bool {
    var check = PayloadCheck(bytes, findsWarnings: true)
    check.judge(limit, report)
    return check.hasMemory
  }

  /// Tells of errors only; whether the payload does no more than wake the app.
  static func findErrors(_ bytes: UnsafeRawBufferPointer, report: Report) -> Bool {
    var check = PayloadCheck(bytes, findsWarnings: false)
    check.judge(bytes.count, report)
    return check.isSilent
  }

  private mutating func judge(_ limit: Int, _ report: Report) {
    // What no limit allows is not worth the reading.
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

  private mutating func walkTop(_ report: Report) throws(JSONFault) {
    var hasAps = false
    let start = reader.start
    while try reader.next() == .name {
      let text = tokenText
      let name = KeyName(text)
      if findsWarnings, !isNew() { tell(finding(.duplicate, text), report) }
      let value = try reader.next()
      if name.equals("aps") {
        hasAps = true
        if value == .beginObject {
          try walk(.aps, report)
          continue
        }
        var finding = PayloadFinding(.type, at: place(of: value), name: text)
        finding.type = .object
        tell(finding, report)
      } else if belongsInAps(name) {
        tell(finding(.belongsInAps, text), report)
      }
      try skip(value)
    }
    if !hasAps { tell(PayloadFinding(.noAps, at: start), report) }
  }

  /// Goes through one of Apple's objects, whose beginning was read. They stand within
  /// each other as far as the sound within `aps`, and no deeper.
  @inline(never)
  private mutating func walk(_ object: PayloadObject, _ report: Report) throws(JSONFault) {
    var seen: UInt32 = 0
    var areKnown = true
    while try reader.next() == .name {
      let text = tokenText
      let name = KeyName(text)
      guard let key = object.find(name) else {
        areKnown = false
        guard findsWarnings else {
          try skip(try reader.next())
          continue
        }
        let isOfAlert = object == .aps && PayloadObject.alert.find(name) != nil
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
    if object == .aps { isSilent = areKnown && seen == 1 << PayloadObject.wakingKey }
  }

  @inline(never)
  private mutating func judge(
    _ type: PayloadType, _ name: UnsafeRawBufferPointer, _ report: Report
  ) throws(JSONFault) {
    let value = try reader.next()
    var finding = PayloadFinding(.type, at: place(of: value), name: name)
    finding.type = type
    guard type.holds(value) else {
      if type == .alert, value == .beginArray { finding.reason = .alertIsArray }
      tell(finding, report)
      return try skip(value)
    }
    switch type {
    case .alert, .sound:
      if value == .beginObject { try walk(type == .alert ? .alert : .sound, report) }
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
      finding.reason = .notOne
      tell(finding, report)
    case .level:
      let level = KeyName(tokenText)
      if level.equals("passive") || level.equals("active") || level.equals("time-sensitive")
        || level.equals("critical")
      {
        return
      }
      finding.reason = .unknownLevel
      tell(finding, report)
    default: try skip(value)
    }
  }

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

  /// Custom keys are called as one likes; but hardly so.
  private func belongsInAps(_ name: KeyName) -> Bool {
    name.equals("alert") || name.equals("badge") || name.equals("content-available")
      || name.equals("mutable-content")
  }

  private var tokenText: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[reader.start..<reader.end])
  }

  /// Where a value begins, with its quotation mark.
  private func place(of token: JSONReader.Token) -> Int {
    token == .string ? reader.start &- 1 : reader.start
  }

  /// About a key, which is a piece of the bytes.
  @inline(never)
  private func finding(
    _ reason: PayloadFinding.Reason, _ name: UnsafeRawBufferPointer
  ) -> PayloadFinding {
    var offset = 0
    if let base = bytes.baseAddress, let start = name.baseAddress { offset = start - base &- 1 }
    return PayloadFinding(reason, at: offset, name: name)
  }

  /// The one place from which is told.
  @inline(never)
  private func tell(_ finding: PayloadFinding, _ report: Report) {
    if finding.isError || findsWarnings { report(finding) }
  }
}
