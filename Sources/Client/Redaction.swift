import CAPNS

/// Removes secrets from a finished message: a private key that was given in place of a name. The
/// library decides what a secret is.
package enum Redaction {
  /// `given` is the text that the message may quote, whole or in part.
  package static func of(_ message: String, given: [String] = []) -> String {
    var text = message
    for value in given.flatMap({ [$0, String($0.drop { $0 != "=" }.dropFirst())] }) {
      guard value.utf8.count > 16, let replacement = replacement(value) else { continue }
      for form in [value, String(value.map { $0.isNewline ? " " : $0 })] {
        text = text.replacing(form, with: replacement)
      }
    }
    return withoutDigits(withoutPEM(text))
  }

  /// The replacement for the value; nil if the value may be quoted.
  package static func replacement(_ value: String) -> String? {
    var value = value
    let count = value.utf8.count
    let why = value.withUTF8 { apns_why_unquoted($0.baseAddress, $0.count) }
    return why.map { "(\(count) bytes, not shown: \(String(cString: $0)))" }
  }

  /// From BEGIN to END, or to the end of the message.
  private static func withoutPEM(_ text: String) -> String {
    var out = ""
    var rest = text[...]
    while let begin = rest.firstRange(of: "-BEGIN ") {
      var start = begin.lowerBound
      while start > rest.startIndex, rest[rest.index(before: start)] == "-" {
        start = rest.index(before: start)
      }
      out += rest[..<start]
      out += "(not shown: PEM)"
      rest = rest[begin.upperBound...]
      guard let end = rest.firstRange(of: "-END ") else { return out }
      rest = rest[end.upperBound...].drop { $0 != "-" }.drop { $0 == "-" }
    }
    return out + rest
  }

  /// Base64 of a key, with or without line breaks in it.
  private static func withoutDigits(_ text: String) -> String {
    var out = ""
    var rest = text[...]
    while !rest.isEmpty {
      let run = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+/=".contains($0)) }
      if run.utf8.count < 40 {
        out += run
      } else {
        out += replacement(String(run)) ?? String(run)
      }
      rest = rest[run.endIndex...]
      if let other = rest.popFirst() { out.append(other) }
    }
    return out
  }
}
