import CAPNS
import CSystem

@_cdecl("apns_strings_new") @implementation
public func apns_strings_new(
  _ bytes: UnsafeRawPointer?, _ length: Int, _ strings: UnsafeMutablePointer<OpaquePointer?>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let strings else { throw isNull("strings_out") }
    guard length >= 0 else { throw isOutOfRange("length", length) }
    guard let bytes = bytes ?? (length == 0 ? UnsafeRawPointer(strings) : nil) else {
      throw isNull("bytes")
    }
    strings.pointee = try makeStrings(
      UnsafeRawBufferPointer(start: bytes, count: length), file: nil)
  }
}

@_cdecl("apns_strings_open") @implementation
public func apns_strings_open(
  _ file: UnsafePointer<CChar>?, _ strings: UnsafeMutablePointer<OpaquePointer?>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let strings else { throw isNull("strings_out") }
    guard let file else { throw isNull("file") }
    let content = try WipedBytes(
      file: file, named: "strings", largest: StringsTable.largestFile, status: APNS_ERR_ARGUMENT)
    strings.pointee = try makeStrings(content.bytes, file: file)
  }
}

@_cdecl("apns_strings_get") @implementation
public func apns_strings_get(
  _ strings: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ keyLength: Int,
  _ text: UnsafeMutablePointer<UnsafePointer<CChar>?>?, _ length: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let text else { throw isNull("text_out") }
    let table = try table(strings)
    let value = table.pointee.value(try entry(table, key, keyLength))
    text.pointee = value.baseAddress?.assumingMemoryBound(to: CChar.self)
    length?.pointee = value.count
  }
}

@_cdecl("apns_strings_format") @implementation
public func apns_strings_format(
  _ strings: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ keyLength: Int,
  _ arguments: UnsafePointer<UnsafePointer<CChar>?>?, _ argumentCount: Int,
  _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ length: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard argumentCount >= 0 else { throw isOutOfRange("arg_count", argumentCount) }
    guard capacity >= 0 else { throw isOutOfRange("capacity", capacity) }
    if arguments == nil, argumentCount > 0 { throw isNull("args") }
    let table = try table(strings)
    let entry = try entry(table, key, keyLength)
    let format = table.pointee.value(entry)
    do throws(LocalizedFormat.Fault) {
      // Measured first, so that too small a buffer is left as it was.
      let count = try LocalizedFormat.write(
        format, arguments, argumentCount, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
      guard let text, capacity > count else {
        length?.pointee = count &+ 1
        throw .tooLong
      }
      _ = try LocalizedFormat.write(
        format, arguments, argumentCount,
        into: UnsafeMutableRawBufferPointer(start: text, count: count))
      text[count] = 0
      length?.pointee = count
    } catch {
      throw formatFailure(error, table, entry, argumentCount)
    }
  }
}

@_cdecl("apns_strings_free") @implementation
public func apns_strings_free(_ strings: OpaquePointer?) {
  guard let strings else { return }
  discard(UnsafeMutablePointer<StringsTable>(strings))
}

@inline(never)
private func makeStrings(
  _ bytes: UnsafeRawBufferPointer, file: UnsafePointer<CChar>?
) throws(Failure) -> OpaquePointer {
  OpaquePointer(
    try place { () throws(Failure) in
      do throws(StringsFault) {
        return try StringsTable.read(bytes)
      } catch {
        if error.reason == .outOfMemory { throw .outOfMemory }
        throw Failure(APNS_ERR_ARGUMENT) { $0.append(error, file: file) }
      }
    })
}

private func table(_ strings: OpaquePointer?) throws(Failure) -> UnsafeMutablePointer<StringsTable>
{
  guard let strings else { throw isNull("strings") }
  return UnsafeMutablePointer<StringsTable>(strings)
}

@inline(never)
private func entry(
  _ table: UnsafeMutablePointer<StringsTable>, _ key: UnsafePointer<CChar>?, _ length: Int
) throws(Failure) -> StringsTable.Entry {
  guard let key else { throw isNull("key") }
  guard length >= 0 else { throw isOutOfRange("key_length", length) }
  let bytes = UnsafeRawBufferPointer(start: key, count: length)
  guard let entry = table.pointee.find(bytes) else {
    throw Failure(APNS_ERR_ARGUMENT) {
      $0.append("there is no string for the key ")
      $0.append(quoting: bytes)
    }
  }
  return entry
}

@inline(never)
private func formatFailure(
  _ fault: LocalizedFormat.Fault, _ table: UnsafeMutablePointer<StringsTable>,
  _ entry: StringsTable.Entry, _ argumentCount: Int
) -> Failure {
  var status = APNS_ERR_ARGUMENT
  if case .tooLong = fault { status = APNS_ERR_BUFFER_SMALL }
  return Failure(status) {
    switch fault {
    case .directive(let offset):
      $0.append(table.pointee.place(of: offset, in: entry))
      $0.append("the '%' begins neither %@ nor %n$@ nor %%")
    case .tooFewArguments(let offset, let wanted):
      $0.append(table.pointee.place(of: offset, in: entry))
      $0.append("the text uses argument ")
      $0.append(wanted)
      $0.append(", but the number of arguments is ")
      $0.append(argumentCount)
    case .null(let argument):
      $0.append("argument ")
      $0.append(argument)
      $0.append(" is NULL")
    case .tooLong: $0.append("the text does not fit")
    }
    $0.append(" (key ")
    $0.append(quoting: table.pointee.key(entry))
    $0.append(")")
  }
}

extension Message {
  fileprivate mutating func append(_ place: TextPlace) {
    append("line ")
    append(place.line)
    append(", column ")
    append(place.column)
    append(": ")
  }

  /// Appends a key in quotation marks, cut so that the rest has room.
  fileprivate mutating func append(quoting bytes: UnsafeRawBufferPointer) {
    append("\"")
    append(name: bytes)
    append("\"")
  }

  fileprivate mutating func append(_ fault: StringsFault, file: UnsafePointer<CChar>?) {
    append("strings ")
    if let file {
      append("file ")
      append(file)
    } else {
      append("in memory")
    }
    append(", ")
    append(fault.place)
    append(words(fault.reason))
    switch fault.reason {
    case .unknownEscape, .noKey, .noEqualSign, .noValue, .noSemicolon, .behindEnd:
      if fault.character > 0x20, fault.character < 0x7F {
        append(", not '")
        append(ascii: UInt8(truncatingIfNeeded: fault.character))
        append("'")
      } else if fault.character == 0 {
        append(", not the end")
      }
    default: break
    }
  }

  private func words(_ reason: StringsFault.Reason) -> StaticString {
    switch reason {
    case .notUTF8: "this is not UTF-8"
    case .notUTF16: "the text ends in the middle of a UTF-16 unit"
    case .unpairedSurrogate: "half a surrogate pair"
    case .nulCharacter: "a NUL; UTF-16 begins with a byte order mark"
    case .unknownEscape: "after '\\' comes one of \" ' \\ a b f n r t v U, or a digit from 0 to 7"
    case .unicodeEscape: "\\U needs four hex digits"
    case .octalEscape: "no character has this octal number"
    case .openString: "the string is never closed"
    case .openComment: "the comment is never closed"
    case .openBrace: "the brace is never closed"
    case .noKey: "expected a key"
    case .noEqualSign: "expected '=' or ';'"
    case .noValue: "expected a value"
    case .noText: "the value is not a string"
    case .noSemicolon: "expected ';'"
    case .behindEnd: "expected the end after the last brace"
    case .binaryList:
      "this is a binary property list, as Xcode builds it; give the strings file of the sources, or build with STRINGS_FILE_OUTPUT_ENCODING=UTF-8"
    case .xmlList:
      "this is a property list in XML; give the strings file that it was made of, with lines such as \"key\" = \"value\";"
    case .catalog:
      "this is JSON, such as a string catalog (.xcstrings); give the Localizable.strings of a language, which Xcode exports and builds from it"
    case .tooLarge: "larger than 16 MiB"
    case .outOfMemory: "out of memory"
    }
  }
}
