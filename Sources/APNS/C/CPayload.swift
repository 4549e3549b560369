import CAPNS
import CSystem

@_cdecl("apns_payload_new") @implementation
public func apns_payload_new(
  _ options: UnsafePointer<apns_payload_options_t>?,
  _ payload: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let payload else { throw isNull("payload_out") }
    let given = try adopt(options)
    guard given.limit >= 0 else { throw isOutOfRange("limit", given.limit) }
    payload.pointee = OpaquePointer(
      try place { () throws(Failure) in
        PayloadBuilder(
          limit: given.limit, truncation: try truncation(given))
      })
  }
}

private func truncation(_ given: apns_payload_options_t) throws(Failure) -> Truncation {
  guard given.truncate != 0 else { return .none }
  let suffix =
    given.suffix == nil && given.suffix_length == 0
    ? UnsafeRawBufferPointer("\u{2026}")
    : bytes(given.suffix, given.suffix_length)
  do throws(Truncation.Fault) {
    guard let suffix else { throw .text(PayloadFault(.missing)) }
    return try Truncation(suffix: suffix)
  } catch {
    switch error {
    case .text(let fault): throw failure(fault) { $0.append("suffix") }
    case .joins:
      throw Failure(
        APNS_ERR_ARGUMENT, "suffix begins with a character that joins the one before it")
    }
  }
}

@_cdecl("apns_payload_free") @implementation
public func apns_payload_free(_ payload: OpaquePointer?) {
  guard let payload else { return }
  discard(UnsafeMutablePointer<PayloadBuilder>(payload))
}

@_cdecl("apns_payload_reset") @implementation @_optimize(speed)
public func apns_payload_reset(_ payload: OpaquePointer?) {
  guard let payload else { return }
  UnsafeMutablePointer<PayloadBuilder>(payload).pointee.reset()
}

// MARK: Apple's keys

@_cdecl("apns_payload_set_string") @implementation @_optimize(speed)
public func apns_payload_set_string(
  _ payload: OpaquePointer?, _ key: apns_payload_key_t, _ text: UnsafePointer<CChar>?,
  _ length: Int,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    let known = try known(key, .string)
    if let text = bytes(text, length) {
      try builder.pointee.set(known, string: text)
    } else {
      guard known == .actionLocKey, text == nil, length == 0 else { throw PayloadFault(.missing) }
      try builder.pointee.set(known, word: "null")
    }
    return APNS_OK
  } catch let fault {
    return refuse(fault, key, error)
  }
}

@_cdecl("apns_payload_set_strings") @implementation
public func apns_payload_set_strings(
  _ payload: OpaquePointer?, _ key: apns_payload_key_t,
  _ texts: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int>?, _ count: Int,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    let known = try known(key, .strings)
    guard count == 0 || texts != nil, count >= 0, count < 1 << 24 else {
      throw PayloadFault(.missing)
    }
    func text(_ index: Int) -> UnsafeRawBufferPointer? {
      guard let text = texts?[index] else { return nil }
      return bytes(text, lengths?[index] ?? strlen(text))
    }
    for index in 0..<count where text(index) == nil {
      var fault = PayloadFault(.missing)
      fault.element = Int32(truncatingIfNeeded: index)
      throw fault
    }
    try builder.pointee.set(known, count: count) {
      text($0) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return APNS_OK
  } catch let fault {
    return refuse(fault, key, error)
  }
}

@_cdecl("apns_payload_set_integer") @implementation @_optimize(speed)
public func apns_payload_set_integer(
  _ payload: OpaquePointer?, _ key: apns_payload_key_t, _ value: Int64,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    let known = try known(key, .integer)
    try builder.pointee.set(known, integer: value)
    return APNS_OK
  } catch let fault {
    return refuse(fault, key, error)
  }
}

@_cdecl("apns_payload_set_double") @implementation
public func apns_payload_set_double(
  _ payload: OpaquePointer?, _ key: apns_payload_key_t, _ value: Double,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    let known = try known(key, .number)
    try builder.pointee.set(known, number: value)
    return APNS_OK
  } catch let fault {
    return refuse(fault, key, error)
  }
}

@_cdecl("apns_payload_set_json") @implementation @_optimize(speed)
public func apns_payload_set_json(
  _ payload: OpaquePointer?, _ key: apns_payload_key_t, _ json: UnsafePointer<CChar>?,
  _ length: Int, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    let known = try known(key)
    guard known.kind == .json || known.isText else { throw PayloadFault(.otherKind) }
    guard let json = bytes(json, length) else { throw PayloadFault(.missing) }
    try builder.pointee.set(known, json: json)
    return APNS_OK
  } catch let fault {
    return refuse(fault, key, error)
  }
}

@_cdecl("apns_payload_set_critical_sound") @implementation
public func apns_payload_set_critical_sound(
  _ payload: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ length: Int, _ volume: Double,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    guard let text = bytes(name, length) else { throw PayloadFault(.missing) }
    try builder.pointee.setCriticalSound(text, volume: volume)
    return APNS_OK
  } catch let fault {
    return refuse(fault, APNS_KEY_SOUND, error)
  }
}

@_cdecl("apns_payload_remove") @implementation
public func apns_payload_remove(
  _ payload: OpaquePointer?, _ key: apns_payload_key_t, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    builder.pointee.remove(try known(key))
    return APNS_OK
  } catch let fault {
    return refuse(fault, key, error)
  }
}

// MARK: Custom keys

@_cdecl("apns_payload_add_string") @implementation @_optimize(speed)
public func apns_payload_add_string(
  _ payload: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int,
  _ text: UnsafePointer<CChar>?, _ length: Int,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    guard let name = bytes(name, nameLength) else { throw PayloadFault(.noName) }
    guard let text = bytes(text, length) else { throw PayloadFault(.missing) }
    try builder.pointee.add(name, string: text)
    return APNS_OK
  } catch let fault {
    return refuse(fault, name, nameLength, error)
  }
}

@_cdecl("apns_payload_add_integer") @implementation
public func apns_payload_add_integer(
  _ payload: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int, _ value: Int64,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    guard let name = bytes(name, nameLength) else { throw PayloadFault(.noName) }
    try builder.pointee.add(name, integer: value)
    return APNS_OK
  } catch let fault {
    return refuse(fault, name, nameLength, error)
  }
}

@_cdecl("apns_payload_add_double") @implementation
public func apns_payload_add_double(
  _ payload: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int, _ value: Double,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    guard let name = bytes(name, nameLength) else { throw PayloadFault(.noName) }
    try builder.pointee.add(name, number: value)
    return APNS_OK
  } catch let fault {
    return refuse(fault, name, nameLength, error)
  }
}

@_cdecl("apns_payload_add_boolean") @implementation
public func apns_payload_add_boolean(
  _ payload: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int, _ value: CInt,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    guard let name = bytes(name, nameLength) else { throw PayloadFault(.noName) }
    try builder.pointee.add(name, word: value != 0 ? "true" : "false")
    return APNS_OK
  } catch let fault {
    return refuse(fault, name, nameLength, error)
  }
}

@_cdecl("apns_payload_add_null") @implementation
public func apns_payload_add_null(
  _ payload: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    guard let name = bytes(name, nameLength) else { throw PayloadFault(.noName) }
    try builder.pointee.add(name, word: "null")
    return APNS_OK
  } catch let fault {
    return refuse(fault, name, nameLength, error)
  }
}

@_cdecl("apns_payload_add_json") @implementation
public func apns_payload_add_json(
  _ payload: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ nameLength: Int,
  _ json: UnsafePointer<CChar>?, _ length: Int,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  do throws(PayloadFault) {
    let builder = try builder(payload)
    guard let name = bytes(name, nameLength) else { throw PayloadFault(.noName) }
    guard let json = bytes(json, length) else { throw PayloadFault(.missing) }
    try builder.pointee.add(name, json: json)
    return APNS_OK
  } catch let fault {
    return refuse(fault, name, nameLength, error)
  }
}

@_cdecl("apns_payload_remove_custom") @implementation
public func apns_payload_remove_custom(_ payload: OpaquePointer?) {
  guard let payload else { return }
  UnsafeMutablePointer<PayloadBuilder>(payload).pointee.removeCustom()
}

// MARK: Writing

@_cdecl("apns_payload_write") @implementation @_optimize(speed)
public func apns_payload_write(
  _ payload: OpaquePointer?, _ buffer: UnsafeMutableRawPointer?, _ capacity: Int,
  _ length: UnsafeMutablePointer<Int>?, _ cut: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  cut?.pointee = 0
  return answer(error) { () throws(Failure) in
    guard let payload else { throw isNull("payload") }
    guard let length else { throw isNull("length_out") }
    let builder = UnsafeMutablePointer<PayloadBuilder>(payload)
    let plan = try plan(of: builder, within: Int(APNS_PAYLOAD_MAX_HTTP2)) {
      length.pointee = $0.minimum ?? $0.size
    }
    length.pointee = plan.size
    guard capacity >= 0 else { throw isOutOfRange("capacity", capacity) }
    guard let buffer, capacity >= plan.size else { throw bufferIsSmall(plan.size) }
    builder.pointee.write(plan, to: buffer)
    cut?.pointee = plan.cut
  }
}

/// Plans the output. On failure, passes the fault to `report` and throws it as a `Failure`.
@inline(__always)
func plan(
  of builder: UnsafeMutablePointer<PayloadBuilder>, within maximum: Int,
  report: (PayloadWriteFault) -> Void = { _ in }
) throws(Failure) -> PayloadBuilder.Plan {
  let limit = builder.pointee.limit == 0 ? maximum : builder.pointee.limit
  do throws(PayloadWriteFault) {
    return try builder.pointee.plan(within: limit)
  } catch {
    report(error)
    throw failure(error, limit: limit)
  }
}

@inline(never)
private func bufferIsSmall(_ size: Int) -> Failure {
  Failure(APNS_ERR_BUFFER_SMALL) {
    $0.append("the payload needs ")
    $0.append(size)
    $0.append(" bytes")
  }
}

@inline(never)
private func failure(_ fault: PayloadWriteFault, limit: Int) -> Failure {
  Failure(APNS_ERR_ARGUMENT, reject: APNS_REJECT_INVALID_PAYLOAD_SIZE) {
    $0.append("the payload has ")
    $0.append(fault.size)
    $0.append(" bytes, ")
    if let minimum = fault.minimum {
      $0.append(minimum)
      $0.append(" with all its text cut, ")
    }
    $0.append((fault.minimum ?? fault.size) &- limit)
    $0.append(" more than its limit of ")
    $0.append(limit)
  }
}

// MARK: Shared by the functions

private func builder(
  _ payload: OpaquePointer?
) throws(PayloadFault) -> UnsafeMutablePointer<PayloadBuilder> {
  guard let payload else { throw PayloadFault(.noPayload) }
  return UnsafeMutablePointer<PayloadBuilder>(payload)
}

private func known(_ key: apns_payload_key_t) throws(PayloadFault) -> PayloadKey {
  guard key.rawValue <= UInt8.max,
    let known = PayloadKey(rawValue: UInt8(truncatingIfNeeded: key.rawValue))
  else { throw PayloadFault(.unknownKey) }
  return known
}

private func known(
  _ key: apns_payload_key_t, _ kind: PayloadKey.Kind
) throws(PayloadFault) -> PayloadKey {
  let known = try known(key)
  guard known.kind == kind else { throw PayloadFault(.otherKind) }
  return known
}

/// Nil if there is no pointer, or if no text has such a length; the text is then not read.
private func bytes(_ text: UnsafePointer<CChar>?, _ length: Int) -> UnsafeRawBufferPointer? {
  guard let text, length >= 0, length < 1 << 30 else { return nil }
  return UnsafeRawBufferPointer(start: text, count: length)
}

/// Reports a fault with one of Apple's keys, and names the key.
@inline(never)
private func refuse(
  _ fault: PayloadFault, _ key: apns_payload_key_t, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  let failure = failure(fault) {
    if let known = try? known(key) {
      $0.append(known.name)
    } else {
      $0.append("key ")
      $0.append(key.rawValue)
    }
    if fault.reason == .otherKind, let kind = (try? known(key))?.kind { $0.append(kind.words) }
  }
  failure.report(to: usable(error))
  return failure.status
}

/// Reports a fault with a custom key, and names the key.
@inline(never)
private func refuse(
  _ fault: PayloadFault, _ name: UnsafePointer<CChar>?, _ length: Int,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  let failure = failure(fault) {
    guard let name = bytes(name, length) else { return }
    $0.append("custom key '")
    $0.append(name: name)
    $0.append("'")
  }
  failure.report(to: usable(error))
  return failure.status
}

@inline(never)
private func failure(_ fault: PayloadFault, name: (inout Message) -> Void) -> Failure {
  if fault.reason == .memory { return .outOfMemory }
  return Failure(APNS_ERR_ARGUMENT) {
    if fault.reason != .noPayload { name(&$0) }
    if fault.element >= 0 {
      $0.append("[")
      $0.append(Int(fault.element))
      $0.append("]")
    }
    $0.append(text: fault.reason.words)
    switch fault.reason {
    case .text, .name, .json:
      $0.append(" ")
      $0.append(fault.offset)
    default: return
    }
    guard fault.reason == .json else { return }
    $0.append(": ")
    $0.append(text: fault.json.words)
  }
}

extension PayloadFault.Reason {
  /// In the order of the cases.
  fileprivate var words: UnsafeRawBufferPointer {
    WordList(
      """
       is not UTF-8 at byte
      : the name is not UTF-8 at byte
       is NULL or its length is impossible
       is there already
       is Apple's: set what is in it with apns_payload_set_string() and the like
      : the alert is already a string, which has no parts
      : the alert already has parts, so set its text as APNS_KEY_BODY
       is NaN or infinite, which JSON cannot express
      : the volume is not from 0 to 1
      : byte
       is too large

      payload is NULL
      name is NULL or its length is impossible
       is not an apns_payload_key_t

       is not a JSON object
       is not an object with loc-key, a string, and loc-args, an array of strings

      """)[Int(rawValue)]
  }
}

extension PayloadKey.Kind {
  fileprivate var words: StaticString {
    switch self {
    case .string: " is a string: set it with apns_payload_set_string()"
    case .strings: " is an array of strings: set it with apns_payload_set_strings()"
    case .integer: " is an integer: set it with apns_payload_set_integer()"
    case .json: " is an object: set it with apns_payload_set_json()"
    case .number: " is a number: set it with apns_payload_set_double()"
    }
  }
}
