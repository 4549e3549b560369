import CAPNS
import Client
import JSON

struct Addressee {
  enum Kind {
    case device, channel
  }

  var token: [UInt8] = []
  /// Instead of a token: a broadcast goes to all subscribers of the channel.
  var channel: String?
}

extension Addressee.Kind {
  /// The name of their column in a list.
  var field: [UInt8] { self == .device ? DeviceList.token : Array("channel".utf8) }

  /// Whether a list without column names can begin with this field.
  func begins(with field: [UInt8]) -> Bool {
    switch self {
    // Several tokens in a line are reported when the line is read.
    case .device:
      (try? DeviceToken.hex(field)) != nil
        || (field.split { $0 == 0x20 }.first.map {
          $0.count >= 32 && (try? DeviceToken.hex(Array($0))) != nil
        }) == true
    // A word could be base64 too. Channel IDs have 24 characters.
    case .channel: field.count >= 16 && field.count % 4 == 0 && ChannelID(field) != nil
    }
  }
}

/// A channel ID: base64, as the service sent it.
struct ChannelID {
  let text: String

  static let fault =
    "is not a channel ID, which is base64 such as dHN0LXNyY2gtY2hubA== (apns channel list)"

  init?(_ bytes: some Collection<UInt8>) {
    let ending = bytes.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard (1...Int(APNS_CHANNEL_ID_MAX)).contains(bytes.count), ending <= 2, ending < bytes.count,
      bytes.dropLast(ending).allSatisfy({ $0.isLetter || $0.isDigit || "+/".utf8.contains($0) })
    else { return nil }
    text = String(decoding: bytes, as: UTF8.self)
  }
}
