import CAPNS

/// A structure of the C interface. It begins with its size, and may come from a program that knows
/// fewer fields than we do, or more.
protocol SizedStructure {
  init()
  var size: Int { get set }
  static var name: StaticString { get }
  /// The size in the first public version: of a structure that has grown since, a number. New fields
  /// are only ever added at the end.
  static var smallest: Int { get }
  /// The name of the first reserved field that is not zero. A structure that the caller lends to be
  /// filled may hold anything there.
  var usedReserve: StaticString? { get }
}

extension SizedStructure {
  static var smallest: Int { MemoryLayout<Self>.size }
  var usedReserve: StaticString? { nil }
}

extension apns_credentials_options_t: SizedStructure {
  static var name: StaticString { "apns_credentials_options_t" }
}
extension apns_credentials_description_t: SizedStructure {
  static var name: StaticString { "apns_credentials_description_t" }
}
extension apns_session_options_t: SizedStructure {
  static var name: StaticString { "apns_session_options_t" }
  var usedReserve: StaticString? {
    reserved32 != 0 ? "reserved32" : peer.usedReserve
  }
}
extension apns_binary_options_t: SizedStructure {
  static var name: StaticString { "apns_binary_options_t" }
  var usedReserve: StaticString? { reserved32 != 0 ? "reserved32" : nil }
}
extension apns_tuning_t: SizedStructure {
  static var name: StaticString { "apns_tuning_t" }
}
extension apns_feedback_options_t: SizedStructure {
  static var name: StaticString { "apns_feedback_options_t" }
  var usedReserve: StaticString? { peer.usedReserve }
}
extension apns_notification_t: SizedStructure {
  static var name: StaticString { "apns_notification_t" }
  var usedReserve: StaticString? {
    usesReserve ? "reserved" : reserved32 != 0 ? "reserved32" : nil
  }

  /// Checked for each notification, so not byte by byte.
  var usesReserve: Bool {
    @inline(__always) get {
      reserved != (0, 0, 0, 0, 0, 0)
    }
  }
}
extension apns_event_t: SizedStructure {
  static var name: StaticString { "apns_event_t" }
}
extension apns_gone_device_t: SizedStructure {
  static var name: StaticString { "apns_gone_device_t" }
}
extension apns_session_stats_t: SizedStructure {
  static var name: StaticString { "apns_session_stats_t" }
}
extension apns_session_metrics_t: SizedStructure {
  static var name: StaticString { "apns_session_metrics_t" }
}
extension apns_feedback_tuple_t: SizedStructure {
  static var name: StaticString { "apns_feedback_tuple_t" }
}
extension apns_payload_options_t: SizedStructure {
  static var name: StaticString { "apns_payload_options_t" }
  var usedReserve: StaticString? { reserved32 != 0 ? "reserved32" : nil }
}
extension apns_payload_finding_t: SizedStructure {
  static var name: StaticString { "apns_payload_finding_t" }
}
extension apns_channels_options_t: SizedStructure {
  static var name: StaticString { "apns_channels_options_t" }
  var usedReserve: StaticString? { reserved32 != 0 ? "reserved32" : peer.usedReserve }
}
extension apns_peer_t {
  fileprivate var usedReserve: StaticString? {
    if reserved16 != 0 { return "peer.reserved16" }
    if reserved32 != 0 { return "peer.reserved32" }
    return reserved.0 ?? reserved.1 ?? reserved.2 ?? reserved.3 != nil ? "peer.reserved" : nil
  }
}
extension apns_channel_description_t: SizedStructure {
  static var name: StaticString { "apns_channel_description_t" }
}
extension apns_channels_response_t: SizedStructure {
  static var name: StaticString { "apns_channels_response_t" }
}
extension apns_error_t: SizedStructure {
  static var name: StaticString { "apns_error_t" }
}

/// No structure of ours will ever be as large as this; for such a size the INIT macro was
/// forgotten.
private let largestStructure = 4096

/// Copies the fields that the caller knows and leaves the rest at their defaults. Unknown fields
/// must be zero, or we would ignore them silently.
func adopt<T: SizedStructure>(_ given: UnsafePointer<T>?) throws(Failure) -> T {
  var adopted = T()
  let ours = MemoryLayout<T>.size
  guard let given else {
    adopted.size = ours
    return adopted
  }
  let size = try checkedSize(given)
  let bytes = UnsafeRawBufferPointer(start: given, count: size)
  if size > ours {
    for byte in bytes[ours...] where byte != 0 {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append(T.name)
        $0.append(" sets a field that this version of the library does not know")
      }
    }
  }
  withUnsafeMutableBytes(of: &adopted) {
    $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[0..<min(size, ours)]))
  }
  if let reserve = adopted.usedReserve {
    throw Failure(APNS_ERR_ARGUMENT) {
      $0.append(T.name)
      $0.append(".")
      $0.append(reserve)
      $0.append(" is reserved and has to be zero")
    }
  }
  return adopted
}

/// Fills as much of the caller's structure as it has room for.
func fill<T: SizedStructure>(_ target: UnsafeMutablePointer<T>, with value: T) throws(Failure) {
  let size = try checkedSize(UnsafePointer(target))
  var full = value
  full.size = size
  withUnsafeBytes(of: &full) { source in
    UnsafeMutableRawBufferPointer(start: target, count: size).copyMemory(
      from: UnsafeRawBufferPointer(rebasing: source[0..<min(size, source.count)]))
  }
}

/// The same from where it is: moving a large structure field by field would cost more code than
/// copying its bytes.
func fill<T: SizedStructure>(
  _ target: UnsafeMutablePointer<T>, from source: UnsafePointer<T>
) throws(Failure) {
  let size = try checkedSize(UnsafePointer(target))
  UnsafeMutableRawBufferPointer(start: target, count: size).copyMemory(
    from: UnsafeRawBufferPointer(start: source, count: min(size, MemoryLayout<T>.size)))
  target.pointee.size = size
}

/// The size that the structure states. In a structure to be filled, nothing else is read.
func checkedSize<T: SizedStructure>(_ given: UnsafePointer<T>) throws(Failure) -> Int {
  let size = given.pointee.size
  guard hasPossibleSize(given) else {
    throw Failure(APNS_ERR_ARGUMENT) {
      $0.append(T.name)
      $0.append(".size is ")
      $0.append(size: size)
      $0.append(": set the structure up with its INIT macro")
    }
  }
  return size
}

/// Each version's structure is at least as large as the first one's, and its size is a multiple of a
/// pointer's, because it contains pointers. No other size ends where a field does.
func hasPossibleSize<T: SizedStructure>(_ given: UnsafePointer<T>) -> Bool {
  let size = given.pointee.size
  return size >= T.smallest && size <= largestStructure && size % MemoryLayout<T>.alignment == 0
}

/// The error that the caller lent; nil if its size is impossible. We do not know where its memory
/// ends then, and the caller only gets the status.
func usable(_ error: UnsafeMutablePointer<apns_error_t>?) -> UnsafeMutablePointer<apns_error_t>? {
  guard let error, hasPossibleSize(UnsafePointer(error)) else { return nil }
  return error
}

/// The failure for a length larger than any memory; `name` is the argument or the field.
@inline(never)
func isOutOfRange(_ name: StaticString, _ length: Int) -> Failure {
  Failure(APNS_ERR_ARGUMENT) {
    $0.append(name)
    $0.append(" is ")
    $0.append(size: length)
    $0.append(", which is larger than memory")
  }
}
