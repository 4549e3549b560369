import CAPNS

@testable import APNS

/// A strings file: if it parses, each key can be looked up and filled in, and writing it again
/// gives the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzStrings(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = UnsafeRawBufferPointer(start: data, count: size)
  var strings: OpaquePointer?
  var error = noError()
  let status = CAPNS.apns_strings_new(input.baseAddress, input.count, &strings, &error)
  defer { CAPNS.apns_strings_free(strings) }
  guard let table = try? StringsTable.read(input) else {
    require(input.baseAddress == nil || status == APNS_ERR_ARGUMENT, "both parsers refuse it")
    require(strings == nil, "no table is returned")
    require(status == APNS_ERR_ARGUMENT && hasMessage(error), "the error has a message")
    return 0
  }
  // NULL is refused before parsing.
  guard input.baseAddress != nil else { return 0 }
  require(status == APNS_OK, "parsing twice gives the same")
  require(error.status == 0, "no error is reported for a valid file")

  var pairs: [Pair] = []
  for entry in table.all {
    let (key, value) = (table.key(entry), table.value(entry))
    let pair = Pair(key: Array(key), value: Array(value))
    require(String(validating: pair.key, as: UTF8.self) != nil, "a key is UTF-8")
    require(String(validating: pair.value, as: UTF8.self) != nil, "a value is UTF-8")
    if let last = pairs.last {
      require(last.key.lexicographicallyPrecedes(pair.key), "keys are sorted and unique")
    }
    guard let found = withCopy(pair.key, { table.find($0) }) else {
      fatalError("does not hold: each key is found")
    }
    require(found.valueStart == entry.valueStart, "the right entry is found")
    for offset in [0, value.count / 2, value.count] {
      let place = table.place(of: offset, in: entry)
      require(place.line >= 1 && place.column >= 1, "every byte has a line and a column")
    }
    checkInterface(strings, pair)
    pairs.append(pair)
  }
  checkMissing(strings, pairs)
  checkWritten(pairs)
  return 0
}

private struct Pair: Equatable {
  var key: [UInt8]
  var value: [UInt8]
}

private func noError() -> apns_error_t {
  var error = apns_error_t()
  error.size = MemoryLayout<apns_error_t>.size
  return error
}

private func hasMessage(_ error: apns_error_t) -> Bool {
  withUnsafeBytes(of: error.message) { message in
    guard let end = message.firstIndex(of: 0), end > 0 else { return false }
    return String(validating: message[..<end], as: UTF8.self) != nil
      && !message[..<end].contains { $0 < 0x20 || $0 == 0x7F }
  }
}

/// Checks the pair through the header's functions.
private func checkInterface(_ strings: OpaquePointer?, _ pair: Pair) {
  var text: UnsafePointer<CChar>?
  var length = 0
  let status = withKey(pair.key) { CAPNS.apns_strings_get(strings, $0, $1, &text, &length, nil) }
  require(status == APNS_OK && length == pair.value.count, "each key is looked up")
  let value = UnsafeRawBufferPointer(start: text, count: length + 1)
  require(value.dropLast().elementsEqual(pair.value) && value.last == 0, "its value, and a NUL")

  let args = ["Jenna", "", "\u{1F600}"]
  var error = noError()
  let needs = format(strings, pair.key, args, into: nil, &length, &error)
  require(needs == APNS_ERR_BUFFER_SMALL || needs == APNS_ERR_ARGUMENT, "a buffer is required")
  require(hasMessage(error), "the error has a message")
  guard needs == APNS_ERR_BUFFER_SMALL else { return }
  let memory = UnsafeMutableBufferPointer<CChar>.allocate(capacity: length)
  defer { memory.deallocate() }
  var written = 0
  require(
    format(strings, pair.key, args, into: memory, &written, &error) == APNS_OK,
    "it is formatted in a buffer of that size")
  require(written == length - 1 && memory[written] == 0, "it fills the buffer, with its NUL")
  require(
    String(validating: memory[..<written].map { UInt8(bitPattern: $0) }, as: UTF8.self) != nil,
    "the result is UTF-8")
}

private func format(
  _ strings: OpaquePointer?, _ key: [UInt8], _ args: [String],
  into buffer: UnsafeMutableBufferPointer<CChar>?, _ length: inout Int, _ error: inout apns_error_t
) -> apns_status_t {
  let texts = args.map { Array($0.utf8CString) }
  var pointers: [UnsafePointer<CChar>?] = []
  func go(_ index: Int) -> apns_status_t {
    guard index < texts.count else {
      return withKey(key) {
        CAPNS.apns_strings_format(
          strings, $0, $1, pointers, pointers.count, buffer?.baseAddress, buffer?.count ?? 0,
          &length, &error)
      }
    }
    return texts[index].withUnsafeBufferPointer {
      pointers.append($0.baseAddress)
      return go(index + 1)
    }
  }
  return go(0)
}

private func withKey(
  _ key: [UInt8], _ body: (UnsafePointer<CChar>?, Int) -> apns_status_t
) -> apns_status_t {
  // An empty key is valid and must not be NULL.
  withCopy(key + [0]) { body($0.baseAddress?.assumingMemoryBound(to: CChar.self), key.count) }
}

private func checkMissing(_ strings: OpaquePointer?, _ pairs: [Pair]) {
  let longest = pairs.map(\.key).max { $0.count < $1.count } ?? []
  // The caller may pass any key.
  for missing in [longest + [0x78], longest + [0xF0, 0x9F], longest + [0xFF, 0x0A]] {
    var text: UnsafePointer<CChar>?
    var error = noError()
    require(
      withKey(missing) { CAPNS.apns_strings_get(strings, $0, $1, &text, nil, &error) }
        == APNS_ERR_ARGUMENT, "a missing key is not found")
    require(hasMessage(error), "the error has a message")
  }
}

/// Writing the pairs to another file and reading it gives the same pairs, in UTF-8 and UTF-16.
private func checkWritten(_ pairs: [Pair]) {
  var file = ""
  for pair in pairs.reversed() { file += "\(quote(pair.key)) = \(quote(pair.value));\n" }
  require(readPairs(Array(file.utf8)) == pairs, "writing and reading gives the same")
  var wide: [UInt8] = [0xFE, 0xFF]
  for unit in file.utf16 { wide += [UInt8(unit >> 8), UInt8(unit & 0xFF)] }
  require(readPairs(wide) == pairs, "writing and reading UTF-16 gives the same")
}

private func readPairs(_ file: [UInt8]) -> [Pair]? {
  withCopy(file) { bytes in
    guard let table = try? StringsTable.read(bytes) else { return nil }
    return table.all.map { Pair(key: Array(table.key($0)), value: Array(table.value($0))) }
  }
}

private func quote(_ text: [UInt8]) -> String {
  var quoted = "\""
  for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
    switch scalar {
    case "\"", "\\": quoted += "\\\(scalar)"
    case "\0": quoted += "\\U0000"
    default: quoted.unicodeScalars.append(scalar)
    }
  }
  return quoted + "\""
}
