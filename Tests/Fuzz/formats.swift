import CAPNS

/// Fills in a localized format and compares with another implementation here. Arguments end with
/// NUL; the format follows the last NUL.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFormats(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = Array(UnsafeRawBufferPointer(start: data, count: size))
  var pieces = input.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }
  guard let format = pieces.popLast(), pieces.count <= 12 else { return 0 }
  let strings = table(format)
  guard String(validating: format, as: UTF8.self) != nil else {
    require(strings == nil, "invalid UTF-8 is not a strings file")
    return 0
  }
  require(strings != nil, "the file is read")
  defer { apns_strings_free(strings) }
  let expected = fill(format, pieces)
  let memories = pieces.map { piece in
    let memory = UnsafeMutableBufferPointer<CChar>.allocate(capacity: piece.count + 1)
    for (index, byte) in piece.enumerated() { memory[index] = CChar(bitPattern: byte) }
    memory[piece.count] = 0
    return memory
  }
  defer { for memory in memories { memory.deallocate() } }
  let args = memories.map { UnsafePointer($0.baseAddress) }
  // A buffer of exactly the size, one byte smaller, and an empty one.
  let needed = (expected?.count ?? 40) + 1
  for room in [needed, needed - 1, 0] {
    let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: room)
    defer { buffer.deallocate() }
    buffer.initialize(repeating: 0x5A)
    var length = -1
    let status = apns_strings_format(
      strings, "KEY", 3, args, args.count, buffer.baseAddress, room, &length, nil)
    guard let expected else {
      require(status == APNS_ERR_ARGUMENT, "a format that cannot be filled in is refused")
      continue
    }
    if room < needed {
      require(status == APNS_ERR_BUFFER_SMALL, "a small buffer is reported")
      require(length == needed, "with the required size")
      require(buffer.allSatisfy { $0 == 0x5A }, "nothing is written to it")
    } else {
      require(status == APNS_OK && length == expected.count, "it is filled in")
      require(
        buffer.map { UInt8(bitPattern: $0) } == expected + [0],
        "it is filled in as expected, with a NUL")
    }
  }
  return 0
}

private func table(_ format: [UInt8]) -> OpaquePointer? {
  var file = Array(#""KEY" = ""#.utf8)
  for byte in format {
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { file.append(UInt8(ascii: "\\")) }
    file.append(byte)
  }
  file += Array("\";".utf8)
  var strings: OpaquePointer?
  _ = withCopy(file) { apns_strings_new($0.baseAddress, $0.count, &strings, nil) }
  return strings
}

/// Nil if the format cannot be filled in.
private func fill(_ format: [UInt8], _ args: [[UInt8]]) -> [UInt8]? {
  var filled: [UInt8] = []
  var rest = format[...]
  var taken = 0
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "%") else {
      filled.append(byte)
      continue
    }
    let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }
    rest = rest.dropFirst(digits.count)
    var number = 0
    if !digits.isEmpty {
      guard rest.popFirst() == UInt8(ascii: "$") else { return nil }
      number = Int(String(decoding: digits, as: UTF8.self)) ?? Int.max
      guard number > 0 else { return nil }
    }
    switch rest.popFirst() {
    case UInt8(ascii: "@"):
      if digits.isEmpty {
        taken += 1
        number = taken
      }
      guard number <= args.count else { return nil }
      filled += args[number - 1]
    case UInt8(ascii: "%") where digits.isEmpty: filled.append(UInt8(ascii: "%"))
    default: return nil
    }
  }
  return filled
}
