import CAPNS
import COpenSSL
import CSystem

/// The passphrase for one source. It is requested once, when it is first needed, and wiped.
struct Passphrase: ~Copyable {
  /// As much as OpenSSL has room for.
  private static let capacity = 1024

  private let given: UnsafePointer<CChar>?
  private let ask: apns_passphrase_t?
  private let context: UnsafeMutableRawPointer?
  private let file: UnsafePointer<CChar>?
  private var answer: UnsafeMutablePointer<CChar>?
  /// Something could not be opened without it.
  private(set) var wasNeeded = false
  /// The cost of opening the source so far.
  var budget = UnlockBudget()

  init(_ options: apns_credentials_options_t, for file: UnsafePointer<CChar>?) {
    given = options.passphrase
    ask = options.passphrase_callback
    context = options.passphrase_context
    self.file = file
  }

  deinit { Self.drop(answer) }

  @inline(never)
  private static func drop(_ answer: UnsafeMutableRawPointer?) {
    guard let answer else { return }
    OPENSSL_cleanse(answer, capacity &+ 1)
    free(answer)
  }

  /// The passphrase, which ends in NUL; nil without one.
  mutating func text() -> UnsafePointer<CChar>? {
    defer { wasNeeded = true }
    if let given { return strlen(given) <= Self.capacity ? given : nil }
    if wasNeeded || ask == nil { return UnsafePointer(answer) }
    guard let ask, let memory = malloc(Self.capacity &+ 1) else { return nil }
    memset(memory, 0, Self.capacity &+ 1)
    let buffer = memory.bindMemory(to: CChar.self, capacity: Self.capacity &+ 1)
    let length = Int(ask(file, buffer, Self.capacity, context))
    // A NUL inside would end the passphrase early for some of OpenSSL's functions.
    if length >= 0, length <= Self.capacity, memchr(memory, 0, length) == nil {
      buffer[length] = 0
      answer = buffer
    } else {
      Self.drop(memory)
    }
    return UnsafePointer(answer)
  }

  /// A passphrase was needed and not given.
  var isMissing: Bool { wasNeeded && given == nil && answer == nil }
}

/// Hands OpenSSL's PEM functions the passphrase; they would prompt on the terminal otherwise.
func givePassphrase(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: CInt, _ writing: CInt,
  _ request: UnsafeMutableRawPointer?
) -> CInt {
  guard let request = request?.assumingMemoryBound(to: Passphrase.self), let buffer,
    let text = request.pointee.text()
  else { return -1 }
  let length = strlen(text)
  guard length <= Int(size) else { return -1 }
  memcpy(buffer, text, length)
  return CInt(truncatingIfNeeded: length)
}
