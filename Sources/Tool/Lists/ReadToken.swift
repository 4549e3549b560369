import Client

/// A token as a person typed it, with notes about possible errors.
struct ReadToken {
  var bytes: [UInt8]
  var isBase64: Bool

  init(bytes: [UInt8], isBase64: Bool) {
    self.bytes = bytes
    self.isBase64 = isBase64
  }

  init(_ text: String) throws(TokenFault) {
    let characters = Array(text.utf8)
    do throws(LibraryError) {
      self.init(bytes: try DeviceToken.hex(characters), isBase64: false)
    } catch let fault {
      // Misspelled hex may be valid base64, so a text is read as base64 only if it is clearly not
      // hex.
      let strange = characters.count {
        !UnicodeScalar($0).properties.isASCIIHexDigit && !" <>=".utf8.contains($0)
      }
      if strange > 2, let bytes = try? DeviceToken.base64(characters) {
        self.init(bytes: bytes, isBase64: true)
        return
      }
      throw TokenFault(text: text, message: Self.whatElse(text) ?? fault.message)
    }
  }

  private static func whatElse(_ text: String) -> String? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count)
    if parts == [8, 4, 4, 4, 12] {
      return "a UUID, such as identifierForVendor: not a device token"
    }
    if text.contains(":"), text.utf8.count > 100 {
      return "looks like a Firebase registration token: Firebase accepts it, APNs does not"
    }
    return nil
  }

  var nsdata: String {
    var text = "<"
    for (index, digit) in DeviceToken.hex(of: bytes).enumerated() {
      if index > 0, index % 8 == 0 { text += " " }
      text.append(digit)
    }
    return text + ">"
  }

  var c: String {
    var text = "\""
    for byte in bytes { text += (byte < 16 ? "\\x0" : "\\x") + String(byte, radix: 16) }
    return text + "\""
  }

  var hints: [String] {
    var hints: [String] = []
    if isBase64 { hints.append("read as base64") }
    if bytes.count > 1, bytes.allSatisfy({ $0 == bytes[0] }) {
      hints.append("all bytes are the same: it is made up, not a device's token")
    }
    if bytes.allSatisfy({ UnicodeScalar($0).properties.isASCIIHexDigit }), bytes.count % 2 == 0,
      let inner = try? DeviceToken.hex(bytes), bytes.count >= 16
    {
      hints.append(
        "its bytes are hex digits themselves: it was encoded twice, and the token is \(DeviceToken.hex(of: inner))"
      )
    }
    if bytes.count < 32 {
      hints.append("shorter than the usual 32 bytes: perhaps cut off")
    } else if bytes.count > 32 {
      hints.append("longer than 32 bytes: APNs accepts that, old databases may not")
    }
    hints.append(
      "a token does not show its environment: the sandbox knows tokens of builds that Xcode installed, production those of TestFlight and the App Store; the other one answers BadDeviceToken, status 8"
    )
    return hints
  }
}

struct TokenFault: Error, CustomStringConvertible {
  var text: String
  var message: String
  var description: String { message }
}
