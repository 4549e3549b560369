import CAPNS

@_cdecl("apns_payload_check") @implementation
public func apns_payload_check(
  _ json: UnsafeRawPointer?, _ length: Int, _ limit: Int,
  _ findings: UnsafeMutablePointer<apns_payload_finding_t>?, _ capacity: Int,
  _ count: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  count?.pointee = 0
  return answer(error) { () throws(Failure) in
    guard let json else { throw isNull("json") }
    guard length >= 0 else { throw isOutOfRange("length", length) }
    guard limit >= 0 else { throw isOutOfRange("limit", limit) }
    guard capacity >= 0 else { throw isOutOfRange("capacity", capacity) }
    let bytes = UnsafeRawBufferPointer(start: json, count: length)
    var list = FindingList(bytes, limit: limit == 0 ? Int(APNS_PAYLOAD_MAX_HTTP2) : limit)
    if let findings, capacity > 0 {
      list.stride = try checkedSize(UnsafePointer(findings))
      list.capacity = capacity
      list.base = UnsafeMutableRawPointer(findings)
    }
    let hasMemory = PayloadCheck.run(bytes, limit: list.limit) { list.append($0) }
    count?.pointee = list.count
    guard hasMemory else { throw .outOfMemory }
    try list.throwFirstError()
  }
}

/// Checks the payload of a notification to be sent. Returns its traits.
func check(_ payload: UnsafeRawBufferPointer) throws(Failure) -> PayloadTraits {
  var list = FindingList(payload, limit: payload.count, isOfNotification: true)
  let traits = PayloadCheck.findErrors(payload) { list.append($0) }
  try list.throwFirstError()
  return traits
}

/// Throws the findings in a builder's payload.
@inline(never)
func check(_ finding: PayloadFinding?) throws(Failure) {
  guard let finding else { return }
  let list = FindingList(UnsafeRawBufferPointer(start: nil, count: 0), limit: 0)
  throw Failure(APNS_ERR_ARGUMENT, reject: finding.reject) {
    $0.append("payload: ")
    list.describe(finding, &$0)
  }
}

/// The findings, as far as the caller's array has room. The first element states the size of all
/// elements; the others need not be set up.
private struct FindingList {
  var base: UnsafeMutableRawPointer?
  var stride = 0
  var capacity = 0
  private(set) var count = 0
  private var firstError: PayloadFinding?
  let limit: Int
  private let bytes: UnsafeRawBufferPointer
  private var finder: PlaceFinder

  private let beginning: StaticString

  init(_ bytes: UnsafeRawBufferPointer, limit: Int, isOfNotification: Bool = false) {
    self.bytes = bytes
    self.limit = limit
    beginning = isOfNotification ? "payload, line " : "line "
    finder = PlaceFinder(bytes)
  }

  @inline(never)
  mutating func append(_ finding: PayloadFinding) {
    if finding.isError, firstError == nil { firstError = finding }
    let hasRoom = count < capacity
    count &+= 1
    guard let base, hasRoom else { return }
    finder.move(to: finding.offset)
    let place = finder.place
    var message = Message()
    describe(finding, &message)
    var told = apns_payload_finding_t()
    told.size = stride
    told.severity = Int32(
      truncatingIfNeeded: finding.isError
        ? APNS_FINDING_ERROR.rawValue : APNS_FINDING_WARNING.rawValue)
    told.offset = finding.offset
    told.line = place.line
    told.column = place.column
    withUnsafeMutableBytes(of: &told.message) { message.copy(to: $0) }
    let known = min(stride, MemoryLayout<apns_payload_finding_t>.size)
    withUnsafeBytes(of: &told) { source in
      guard let start = source.baseAddress else { return }
      (base + (count &- 1) &* stride).copyMemory(from: start, byteCount: known)
    }
  }

  @inline(__always)
  func throwFirstError() throws(Failure) {
    if firstError != nil { try fail() }
  }

  /// The text is made only here, because most payloads have no error.
  @inline(never)
  private func fail() throws(Failure) {
    guard let finding = firstError else { return }
    var finder = PlaceFinder(bytes)
    finder.move(to: finding.offset)
    let place = finder.place
    var message = Message()
    describe(finding, &message)
    throw Failure(APNS_ERR_ARGUMENT, reject: finding.reject) {
      $0.append(beginning)
      $0.append(place.line)
      $0.append(", column ")
      $0.append(place.column)
      $0.append(" (byte ")
      $0.append(finding.offset)
      $0.append("): ")
      $0.append(message)
    }
  }

  func describe(_ finding: PayloadFinding, _ message: inout Message) {
    if finding.reason == .encodedTwice, finding.name == nil { message.append("the payload") }
    if let name = finding.name {
      message.append("'")
      message.append(name: name)
      message.append("'")
    }
    message.append(text: finding.reason == .json ? finding.json.words : finding.reason.words)
    switch finding.reason {
    case .type:
      message.append(" ")
      message.append(text: finding.type.words)
    case .size:
      message.append(" ")
      message.append(bytes.count)
      message.append(" bytes, ")
      message.append(bytes.count &- limit)
      message.append(" more than ")
      message.append(limit)
    case .time:
      if let time = finding.time { message.append(payload: time) }
    case .unknownKey:
      guard let like = finding.like else { return }
      message.append("; '")
      message.append(text: like)
      message.append("' is")
    default: break
    }
  }
}

extension PayloadFinding {
  /// The status from a gateway that checks payloads; Apple's list has no code for the rest.
  fileprivate var reject: apns_reject_t {
    reason == .size ? APNS_REJECT_INVALID_PAYLOAD_SIZE : APNS_REJECT_PROCESSING_ERROR
  }
}

extension PayloadFinding.Reason {
  /// In the order of the cases.
  fileprivate var words: UnsafeRawBufferPointer {
    WordList(
      """

      a payload is an object, in braces
       is not
       has an element that is not a string
       is a string with JSON in it: it was encoded twice
       is not from 0 to 2147483647, so the device ignores it
       is not from 0 to 1
       looks like
      the payload has
      there is no 'aps', so the device shows nothing by itself
       is an array, which the device ignores
       is not a key of Apple's
       belongs in 'alert'
       belongs in 'aps'
       is there twice: devices differ in which one they use
       has an effect only as 1
       is not passive, active, time-sensitive or critical
       is not start, update or end
       has an effect only as true
       is missing, which a Live Activity needs here
      the payload begins with a byte order mark, which not every reader accepts: leave it out
       is for device management, whose payload has no 'aps'
       has an escape that was escaped twice: the device shows its backslash

      """)[Int(rawValue)]
  }
}

extension PayloadType {
  /// In the order of the cases.
  fileprivate var words: UnsafeRawBufferPointer {
    WordList(
      """
      anything
      a string
      an integer
      a number
      an array of strings
      an object
      a string or an object
      a string or an object
      a string or null
      an integer
      a string
      a string
      true
      a string
      a number
      an integer
      a number
      a number

      """)[Int(rawValue)]
  }
}

extension Message {
  /// " milliseconds: a device reads UNIX seconds, 1795600000".
  @inline(never)
  fileprivate mutating func append(payload time: UnlikelyTime) {
    append(what: time)
    append(": a device reads UNIX seconds, ")
    if time.isDuration { append("time(NULL)") }
    if !time.isDuration || time.seconds > 0 {
      if time.isDuration { append(" + ") }
      append(Int(time.seconds))
    }
  }

  /// " milliseconds", " seconds since 2001" or " a duration".
  @inline(never)
  mutating func append(what time: UnlikelyTime) {
    if time.isDuration { return append(" a duration") }
    append(" ")
    append(
      text: WordList("seconds\0milliseconds\0microseconds\0nanoseconds\0")[
        Int(time.unit.rawValue)])
    if time.isFrom2001 { append(" since 2001") }
  }
}
