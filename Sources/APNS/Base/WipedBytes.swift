import CAPNS
import CSystem

/// Bytes that we own and wipe before freeing: there may be a key among them.
struct WipedBytes: ~Copyable {
  private let start: UnsafeMutableRawPointer
  let count: Int

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  @inline(never)
  init(copying given: UnsafeRawBufferPointer) throws(Failure) {
    guard let copy = malloc(max(given.count, 1)) else { throw .outOfMemory }
    if let base = given.baseAddress { copy.copyMemory(from: base, byteCount: given.count) }
    start = copy
    count = given.count
  }

  /// The bytes that `body` writes into it, as far as they fit.
  init(room: Int, _ body: (inout WipedWriter) -> Void) throws(Failure) {
    guard let bytes = malloc(max(room, 1)) else { throw .outOfMemory }
    var writer = WipedWriter(UnsafeMutableRawBufferPointer(start: bytes, count: room))
    body(&writer)
    start = bytes
    count = writer.count
  }

  /// Reads a whole file. Failures call it `name` and have the status `status`; `hasText`: there is
  /// an option of that name for the content itself. Avoids stdio, because its buffer would keep the
  /// bytes.
  init(
    file: UnsafePointer<CChar>, named name: StaticString, largest: Int, status: apns_status_t,
    hasText: Bool = false
  ) throws(Failure) {
    let descriptor = csystem_open_for_reading(file)
    guard descriptor >= 0 else {
      throw Self.unreadable(file, name, status, csystem_errno(), hasText)
    }
    defer { _ = close(descriptor) }
    guard var bytes = malloc(4096) else { throw .outOfMemory }
    var (capacity, count) = (4096, 0)
    while true {
      if count == capacity {
        // Not realloc, which would leave the old bytes in memory.
        guard capacity < largest, let larger = malloc(capacity &* 2) else {
          Self.drop(bytes, count)
          if capacity < largest { throw .outOfMemory }
          throw Self.tooLarge(file, name, status, largest)
        }
        larger.copyMemory(from: bytes, byteCount: count)
        Self.drop(bytes, count)
        bytes = larger
        capacity &*= 2
      }
      let received = CSystem.read(descriptor, bytes + count, capacity &- count)
      if received < 0 {
        let code = csystem_errno()
        if code == EINTR { continue }
        Self.drop(bytes, count)
        throw Self.unreadable(file, name, status, code, hasText)
      }
      if received == 0 { break }
      count &+= received
    }
    start = bytes
    self.count = count
  }

  deinit { Self.drop(start, count) }

  @inline(never)
  private static func drop(_ bytes: UnsafeMutableRawPointer, _ count: Int) {
    csystem_wipe(bytes, count)
    free(bytes)
  }

  @inline(never)
  private static func unreadable(
    _ file: UnsafePointer<CChar>, _ name: StaticString, _ status: apns_status_t, _ code: CInt,
    _ hasText: Bool
  ) -> Failure {
    // A resource that ran out may be there later, and the file is not to blame.
    let isExhausted = code == EMFILE || code == ENFILE || code == ENOMEM
    if !isExhausted, isText(file) { return textForName(file, name, status, hasText) }
    return Failure(
      isExhausted ? APNS_ERR_MEMORY : status, systemError: code,
      cause: isExhausted ? APNS_CAUSE_NONE : APNS_CAUSE_FILE_UNREADABLE
    ) {
      $0.append(name)
      $0.append(" file ")
      $0.append(file)
    }
  }

  /// The value cannot be a file's name, so it is the content.
  private static func isText(_ file: UnsafePointer<CChar>) -> Bool {
    switch Unquoted(UnsafeRawBufferPointer(start: file, count: strlen(file))) {
    case .pem, .lines, .length: true
    case .base64, .password, nil: false
    }
  }

  @inline(never)
  private static func textForName(
    _ file: UnsafePointer<CChar>, _ name: StaticString, _ status: apns_status_t, _ hasText: Bool
  ) -> Failure {
    Failure(status, cause: APNS_CAUSE_FILE_UNREADABLE) {
      $0.append(name)
      $0.append(" file ")
      $0.append(file)
      $0.append(" is text, not the name of a file")
      guard hasText else { return }
      $0.append(": text goes into ")
      $0.append(name)
      $0.append(", in C ")
      $0.append(name)
      $0.append("_bytes")
    }
  }

  @inline(never)
  private static func tooLarge(
    _ file: UnsafePointer<CChar>, _ name: StaticString, _ status: apns_status_t, _ largest: Int
  ) -> Failure {
    Failure(status, cause: APNS_CAUSE_FILE_MALFORMED) {
      $0.append(name)
      $0.append(" file ")
      $0.append(file)
      $0.append(" is larger than ")
      $0.append(largest >> 20)
      $0.append(" MiB")
    }
  }
}

/// Writes into memory one byte after the other.
struct WipedWriter {
  private let room: UnsafeMutableRawBufferPointer
  private(set) var count = 0
  /// Something was left off.
  private(set) var isFull = false

  init(_ room: UnsafeMutableRawBufferPointer) { self.room = room }

  @inline(never)
  mutating func put(_ byte: UInt8) {
    guard count < room.count else {
      isFull = true
      return
    }
    room[count] = byte
    count &+= 1
  }

  mutating func put(_ bytes: UnsafeRawBufferPointer) {
    for byte in bytes { put(byte) }
  }

  mutating func put(_ text: StaticString) { put(UnsafeRawBufferPointer(text)) }
}
