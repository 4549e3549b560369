import CAPNS

@_cdecl("apns_token_from_hex") @implementation @_optimize(speed)
public func apns_token_from_hex(
  _ text: UnsafePointer<CChar>?, _ textLength: Int, _ token: UnsafeMutablePointer<UInt8>?,
  _ capacity: Int, _ length: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    try read(text, textLength, token, capacity, length) {
      (text, target) throws(Failure) in
      do throws(TokenText.Fault) {
        return try TokenText.decode(text, into: target)
      } catch {
        throw Failure(APNS_ERR_ARGUMENT, reject: error.reject) { $0.append(error) }
      }
    }
  }
}

@_cdecl("apns_token_from_base64") @implementation
public func apns_token_from_base64(
  _ text: UnsafePointer<CChar>?, _ textLength: Int, _ token: UnsafeMutablePointer<UInt8>?,
  _ capacity: Int, _ length: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    try read(text, textLength, token, capacity, length) {
      (text, target) throws(Failure) in
      do throws(TokenBase64.Fault) {
        return try TokenBase64.decode(text, into: target)
      } catch {
        throw Failure(APNS_ERR_ARGUMENT, reject: error.reject) { $0.append(error) }
      }
    }
  }
}

@_cdecl("apns_token_to_hex") @implementation
public func apns_token_to_hex(
  _ token: UnsafeRawPointer?, _ tokenLength: Int, _ text: UnsafeMutablePointer<CChar>?,
  _ capacity: Int, _ length: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let token = try checked(token, tokenLength)
    let text = try room(for: token.count &* 2, text, capacity, length)
    TokenText.encode(token, into: text)
  }
}

@_cdecl("apns_token_to_base64") @implementation
public func apns_token_to_base64(
  _ token: UnsafeRawPointer?, _ tokenLength: Int, _ text: UnsafeMutablePointer<CChar>?,
  _ capacity: Int, _ length: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let token = try checked(token, tokenLength)
    let text = try room(for: TokenBase64.length(of: token.count), text, capacity, length)
    TokenBase64.encode(token, into: text)
  }
}

/// Reads a token from text in the notation that `decode` knows.
@inline(never)
private func read(
  _ text: UnsafePointer<CChar>?, _ textLength: Int, _ token: UnsafeMutablePointer<UInt8>?,
  _ capacity: Int, _ length: UnsafeMutablePointer<Int>?,
  _ decode: (UnsafeRawBufferPointer, UnsafeMutableRawBufferPointer) throws(Failure) -> Int
) throws(Failure) {
  guard let text else { throw isNull("text") }
  guard let length else { throw isNull("length_out") }
  guard textLength >= 0 else { throw isOutOfRange("text_length", textLength) }
  guard capacity >= 0 else { throw isOutOfRange("capacity", capacity) }
  let room = token == nil ? 0 : capacity
  let count = try decode(
    UnsafeRawBufferPointer(start: text, count: textLength),
    UnsafeMutableRawBufferPointer(start: token, count: room))
  length.pointee = count
  if count > room {
    throw Failure(APNS_ERR_BUFFER_SMALL) {
      $0.append("the token needs ")
      $0.append(count)
      $0.append(" bytes")
    }
  }
}

@inline(never)
private func checked(
  _ token: UnsafeRawPointer?, _ length: Int
) throws(Failure) -> UnsafeRawBufferPointer {
  guard let token else { throw isNull("token") }
  guard length > 0, length <= 0xFFFF else {
    throw Failure(APNS_ERR_ARGUMENT) {
      $0.append("token_length is ")
      $0.append(size: length)
      $0.append(", not 1 to 65535")
    }
  }
  return UnsafeRawBufferPointer(start: token, count: length)
}

/// The caller's buffer, if it has room for that many characters and a NUL, which is written.
@inline(never)
private func room(
  for characters: Int, _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ length: UnsafeMutablePointer<Int>?
) throws(Failure) -> UnsafeMutablePointer<CChar> {
  guard capacity >= 0 else { throw isOutOfRange("capacity", capacity) }
  guard let text, capacity > characters else {
    length?.pointee = characters &+ 1
    throw Failure(APNS_ERR_BUFFER_SMALL) {
      $0.append("the text needs ")
      $0.append(characters &+ 1)
      $0.append(" bytes with its NUL")
    }
  }
  text[characters] = 0
  length?.pointee = characters
  return text
}

extension Message {
  /// "character 'u' at 1".
  private mutating func append(character byte: UInt8, at position: Int) {
    append("character ")
    if byte > 0x20, byte < 0x7F {
      append("'")
      append(ascii: byte)
      append("'")
    } else {
      append("0x")
      append(hex: byte)
    }
    append(" at ")
    append(position)
  }

  fileprivate mutating func append(_ fault: TokenText.Fault) {
    switch fault {
    case .notHex(let position, let byte):
      append(character: byte, at: position)
      append(" is not hex")
    case .description:
      append("this is how Swift and iOS 13 print Data, and not the token: ")
      append("the app has to send each byte in hex, map { String(format: \"%02x\", $0) }.joined()")
    case .oddDigits(let count):
      append("an odd number of hex digits: ")
      append(count)
    case .noDigits: append("no hex digit in the token")
    case .tooLong(let bytes):
      append("the token has ")
      append(bytes)
      append(" bytes, more than 100")
    }
  }
  fileprivate mutating func append(_ fault: TokenBase64.Fault) {
    switch fault {
    case .notBase64(let position, let byte):
      append(character: byte, at: position)
      append(" is not base64")
    case .padding(let position):
      append(character: 0x3D, at: position)
      append(" is padding out of place")
    case .behindPadding(let position, let byte):
      append(character: byte, at: position)
      append(" follows the padding")
    case .halfPadding: append("the text ends with one '=' instead of two")
    case .looseBits(let position, let byte):
      append(character: byte, at: position)
      append(" has bits that the last byte has no room for")
    case .cutShort(let count):
      append("one base64 digit is left over: ")
      append(count)
    case .noDigits: append("no base64 digit in the token")
    case .tooLong(let bytes):
      append("the token has ")
      append(bytes)
      append(" bytes, more than 100")
    }
  }
}

extension TokenText.Fault {
  fileprivate var reject: apns_reject_t {
    switch self {
    case .noDigits: APNS_REJECT_MISSING_TOKEN
    case .tooLong: APNS_REJECT_INVALID_TOKEN_SIZE
    case .notHex, .oddDigits, .description: APNS_REJECT_INVALID_TOKEN
    }
  }
}

extension TokenBase64.Fault {
  fileprivate var reject: apns_reject_t {
    switch self {
    case .noDigits: APNS_REJECT_MISSING_TOKEN
    case .tooLong: APNS_REJECT_INVALID_TOKEN_SIZE
    default: APNS_REJECT_INVALID_TOKEN
    }
  }
}
