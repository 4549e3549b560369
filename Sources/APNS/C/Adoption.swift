import CAPNS

/// A structure of the C interface: begins with its size, and may come from a
/// program that knew of fewer fields than we do, or of more.
protocol SizedStructure {
  init()
  var size: Int { get set }
}

extension apns_credentials_options_t: SizedStructure {}
extension apns_credentials_description_t: SizedStructure {}
extension apns_session_options_t: SizedStructure {}
extension apns_feedback_options_t: SizedStructure {}
extension apns_notification_t: SizedStructure {}
extension apns_event_t: SizedStructure {}
extension apns_session_stats_t: SizedStructure {}
extension apns_feedback_tuple_t: SizedStructure {}
extension apns_payload_options_t: SizedStructure {}
extension apns_payload_finding_t: SizedStructure {}

/// What no structure of ours will ever be as large as: the INIT macro was forgotten.
private let largestStructure = 4096

/// Copies what the caller knew of and leaves the rest at its defaults. What we
/// do not know of has to be zero, or it would be ignored without a word.
func adopt<T: SizedStructure>(
  _ given: UnsafePointer<T>?, named name: StaticString
) throws(Failure) -> T {
  var adopted = T()
  let ours = MemoryLayout<T>.size
  guard let given else {
    adopted.size = ours
    return adopted
  }
  let size = try checkedSize(given, named: name)
  let bytes = UnsafeRawBufferPointer(start: given, count: size)
  if size > ours {
    for byte in bytes[ours...] where byte != 0 {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append(name)
        $0.append(" sets a field that this version of the library does not know")
      }
    }
  }
  withUnsafeMutableBytes(of: &adopted) {
    $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[0..<min(size, ours)]))
  }
  return adopted
}

/// Writes to the caller's structure as much as it has room for.
func fill<T: SizedStructure>(
  _ target: UnsafeMutablePointer<T>, with value: T, named name: StaticString
) throws(Failure) {
  let size = try checkedSize(UnsafePointer(target), named: name)
  var full = value
  full.size = size
  withUnsafeBytes(of: &full) { source in
    UnsafeMutableRawBufferPointer(start: target, count: size).copyMemory(
      from: UnsafeRawBufferPointer(rebasing: source[0..<min(size, source.count)]))
  }
}

/// What the structure says its size is; a structure to be filled has nothing else to say.
func checkedSize<T: SizedStructure>(
  _ given: UnsafePointer<T>, named name: StaticString
) throws(Failure) -> Int {
  let size = given.pointee.size
  guard size >= MemoryLayout<Int>.size, size <= largestStructure else {
    throw Failure(APNS_ERR_ARGUMENT) {
      $0.append(name)
      $0.append(".size is ")
      $0.append(size)
      $0.append(": set the structure up with its INIT macro")
    }
  }
  return size
}
