import COpenSSL
import Client

struct AttemptStream: Hashable {
  var connection: UInt32
  var number: Int
}

/// The notifications to tokens with the same first 8 digits, by which the log names them.
struct PendingDevices {
  /// Sent by the program, and not yet seen in a frame.
  var waiting: [String] = []
  var last = ""
  var outstanding = 0
  /// Rejected, until a reason is known.
  var answered: [Attempt] = []
  /// Without the program's calls: the last request, and whether the session sends it again.
  var stream: AttemptStream?
  var isRetried = false
}

/// The key of a recording, by which a device has its name in it. No file has it.
struct DeviceKey {
  private let key = (0..<4).map { _ in UInt64.random(in: .min ... .max) }

  /// `device`: its token, or what the log has of it.
  func hash(_ device: some Sequence<UInt8>) -> String {
    let bytes = key.withUnsafeBytes { Array($0) } + device
    var digest = [UInt8](repeating: 0, count: 32)
    copenssl_sha256(bytes, bytes.count, &digest)
    return DeviceToken.hex(of: Array(digest.prefix(16)))
  }

  /// As the log names the device.
  static func name(of token: [UInt8]) -> String {
    DeviceToken.hex(of: Array(token.prefix(4)))
  }
}
