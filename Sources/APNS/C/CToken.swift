import CAPNS

@_cdecl("apns_token_from_hex") @implementation
public func apns_token_from_hex(
  _ text: UnsafePointer<CChar>?, _ textLength: Int, _ token: UnsafeMutablePointer<UInt8>?,
  _ capacity: Int, _ length: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let text else { throw isNull("text") }
    guard let length else { throw isNull("length_out") }
    guard let textBytes = Int(exactly: textLength), textBytes >= 0 else {
      throw Failure(APNS_ERR_ARGUMENT, "text_length is out of range")
    }
    let room = token == nil || capacity < 0 ? 0 : capacity
    let count: Int
    do throws(TokenText.Fault) {
      count = try TokenText.decode(
        UnsafeRawBufferPointer(start: text, count: textBytes),
        into: UnsafeMutableRawBufferPointer(start: token, count: room))
    } catch {
      throw Failure(APNS_ERR_ARGUMENT) { $0.append(error) }
    }
    length.pointee = count
    if count > room {
      throw Failure(APNS_ERR_BUFFER_SMALL) {
        $0.append("the token takes ")
        $0.append(count)
        $0.append(" bytes")
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
    guard let token else { throw isNull("token") }
    guard tokenLength > 0, tokenLength <= 0xFFFF else {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append("token_length is ")
        $0.append(tokenLength)
        $0.append(", not 1 to 65535")
      }
    }
    let digits = tokenLength &* 2
    guard let text, capacity > digits else {
      length?.pointee = digits &+ 1
      throw Failure(APNS_ERR_BUFFER_SMALL) {
        $0.append("the text takes ")
        $0.append(digits &+ 1)
        $0.append(" bytes with its NUL")
      }
    }
    TokenText.encode(UnsafeRawBufferPointer(start: token, count: tokenLength), into: text)
    text[digits] = 0
    length?.pointee = digits
  }
}

extension Message {
  fileprivate mutating func append(_ fault: TokenText.Fault) {
    switch fault {
    case .notHex(let position, let byte):
      append("character ")
      if byte > 0x20, byte < 0x7F {
        append("'")
        append(byte: byte)
        append("'")
      } else {
        append("0x")
        append(hex: byte)
      }
      append(" at ")
      append(position)
      append(" is not hex")
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
}
