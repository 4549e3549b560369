import CAPNS

/// A text truncated to fit, checked with Swift's own strings. Three bytes choose the limit, the
/// suffix and the key; the rest is the text.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTruncation(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeRawBufferPointer(start: data, count: size))
  guard input.count >= 3 else { return 0 }
  let suffix = suffixes[Int(input[1]) % suffixes.count]
  let form = forms[Int(input[2]) % forms.count]
  let limit = 50 + Int(input[0])
  let bytes = Array(input[3...])
  guard let written = write(bytes, limit, suffix, form) else {
    require(String(validating: bytes, as: UTF8.self) == nil, "UTF-8 is accepted")
    return 0
  }
  guard let text = String(validating: bytes, as: UTF8.self) else {
    fatalError("does not hold: invalid UTF-8 is refused")
  }
  let fixed = form.head.utf8.count + form.tail.utf8.count
  let full = fixed + escapedCount(text.unicodeScalars)
  guard let json = written.json else {
    require(full > limit, "a payload that fits is written")
    require(
      fixed + escapedCount(suffix.unicodeScalars) > limit,
      "a payload that can be made to fit is written")
    return 0
  }
  require(json.count <= limit, "the payload is within the limit")
  guard let line = String(validating: json, as: UTF8.self) else {
    fatalError("does not hold: the payload is UTF-8")
  }
  require(
    line.utf8.starts(with: form.head.utf8)
      && line.utf8.reversed().starts(with: form.tail.utf8.reversed()),
    "only the text is changed")
  let shown = unescape(json[form.head.utf8.count..<json.count - form.tail.utf8.count])
  if written.cut == 0 {
    require(shown.utf8.elementsEqual(text.utf8), "the text is complete")
    return 0
  }
  require(full > limit, "only a long text is truncated")
  let kept = Array(text.utf8.prefix(text.utf8.count - written.cut))
  require(
    shown.utf8.elementsEqual(kept + Array(suffix.utf8)), "the beginning of the text and the suffix")
  guard isJudged(text) else { return 0 }
  checkCharacters(text, kept: kept, suffix: suffix, room: limit - json.count)
  return 0
}

/// No visible character changes, and one more would not fit.
private func checkCharacters(_ text: String, kept: [UInt8], suffix: String, room: Int) {
  guard let start = String(validating: kept, as: UTF8.self) else {
    fatalError("does not hold: no character is cut in two")
  }
  let whole = text.prefix(start.count)
  require(whole.utf8.elementsEqual(kept), "no visible character is cut in two")
  require((start + suffix).count == start.count + suffix.count, "the suffix changes no character")
  let longer = String(text.prefix(start.count + 1))
  let next = String(text.dropFirst(start.count).prefix(1))
  let joins = (longer + suffix).count != longer.count + suffix.count
  require(joins || escapedCount(next.unicodeScalars) > room, "one more character would not fit")
}

private let suffixes = ["\u{2026}", "", "...", " \u{2192} \"app\"", "\u{1F1EA}", "\n", "\u{915}"]

/// The JSON before and after the text.
private struct Form {
  var key: apns_payload_key_t
  var head: String
  var tail: String
}

private let forms = [
  Form(key: APNS_KEY_ALERT, head: #"{"aps":{"alert":""#, tail: #"","badge":3}}"#),
  Form(key: APNS_KEY_BODY, head: #"{"aps":{"alert":{"body":""#, tail: #""},"badge":3}}"#),
  Form(
    key: APNS_KEY_LOC_ARGS, head: #"{"aps":{"alert":{"loc-args":["Bob",""#,
    tail: #""]},"badge":3}}"#),
]

/// Nil if the text is refused; its JSON is nil if it cannot be made to fit.
private func write(
  _ text: [UInt8], _ limit: Int, _ suffix: String, _ form: Form
) -> (json: [UInt8]?, cut: Int)? {
  var options = apns_payload_options_t()
  options.size = MemoryLayout<apns_payload_options_t>.size
  options.limit = limit
  options.truncate = 1
  var payload: OpaquePointer?
  let made = Array(suffix.utf8CString).withUnsafeBufferPointer {
    options.suffix = $0.baseAddress
    options.suffix_length = suffix.utf8.count
    return apns_payload_new(&options, &payload, nil)
  }
  require(made == APNS_OK, "the suffix is accepted")
  defer { apns_payload_free(payload) }
  let status = withCopy(text) { bytes in
    let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    guard form.key == APNS_KEY_LOC_ARGS else {
      return apns_payload_set_string(payload, form.key, start, bytes.count, nil)
    }
    return "Bob".withCString { bob in
      apns_payload_set_strings(payload, form.key, [bob, start], [3, bytes.count], 2, nil)
    }
  }
  guard status == APNS_OK else { return nil }
  require(apns_payload_set_integer(payload, APNS_KEY_BADGE, 3, nil) == APNS_OK, "a badge is set")
  var (length, cut) = (0, 0)
  let needs = apns_payload_write(payload, nil, 0, &length, nil, nil)
  guard needs == APNS_ERR_BUFFER_SMALL else {
    require(needs == APNS_ERR_ARGUMENT, "too long is an argument error")
    return (nil, 0)
  }
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 1)
  defer { memory.deallocate() }
  require(
    apns_payload_write(payload, memory.baseAddress, memory.count, &length, &cut, nil) == APNS_OK,
    "it is written to a buffer of that size")
  require(length == memory.count, "it fills the buffer")
  return (Array(memory), cut)
}

/// The number of bytes of the text in JSON, counted here.
private func escapedCount(_ text: some Sequence<Unicode.Scalar>) -> Int {
  text.reduce(0) { sum, scalar in
    switch scalar {
    case "\"", "\\", "\u{8}", "\t", "\n", "\u{C}", "\r": sum + 2
    case "\u{0}"..<" ": sum + 6
    default: sum + UTF8.width(scalar)
    }
  }
}

/// Undoes the escapes that the library writes.
private func unescape(_ json: ArraySlice<UInt8>) -> String {
  var bytes: [UInt8] = []
  var index = json.startIndex
  while index < json.endIndex {
    guard json[index] == UInt8(ascii: "\\") else {
      require(
        json[index] >= 0x20 && json[index] != UInt8(ascii: "\""), "required escapes are written")
      bytes.append(json[index])
      index += 1
      continue
    }
    require(index + 1 < json.endIndex, "escapes are complete")
    switch json[index + 1] {
    case UInt8(ascii: "b"): bytes.append(8)
    case UInt8(ascii: "t"): bytes.append(9)
    case UInt8(ascii: "n"): bytes.append(10)
    case UInt8(ascii: "f"): bytes.append(12)
    case UInt8(ascii: "r"): bytes.append(13)
    case UInt8(ascii: "u"):
      require(index + 6 <= json.endIndex, "escapes are complete")
      let digits = String(decoding: json[index + 2..<index + 6], as: UTF8.self)
      guard let value = UInt8(digits, radix: 16) else { fatalError("unexpected escape: \(digits)") }
      bytes.append(value)
      index += 4
    case let other:
      require(other == UInt8(ascii: "\"") || other == UInt8(ascii: "\\"), "a needless escape")
      bytes.append(other)
    }
    index += 2
  }
  return String(decoding: bytes, as: UTF8.self)
}

/// False for characters newer than Unicode 15, the library's version: Swift may know them.
private func isJudged(_ text: String) -> Bool {
  text.unicodeScalars.allSatisfy { scalar in
    // Prepend in Unicode 15, but not in later versions.
    guard let age = scalar.properties.age, scalar.value != 0x11A3A else { return false }
    return age <= (15, 0)
  }
}
