import JSON

/// A JSON object, from a file or as typed, without the blanks that make a payload longer.
enum ObjectText {
  /// A template may have {{name}} where JSON does not allow it.
  static func read(_ given: String, isTemplate: Bool) throws(FileFault) -> String {
    let isTyped = given.hasPrefix("{")
    let text = isTyped ? Array(given.utf8) : try WholeText.readText(given)
    if !isTemplate || Template(text, hasFields: true).names.isEmpty {
      do throws(JSONError) {
        guard case .object = try JSONParser.read(text).content else {
          throw JSONError("expected an object", at: 0)
        }
      } catch {
        let place = error.place(in: text)
        throw FileFault(
          path: isTyped ? "the object" : given, line: place.line, column: place.column,
          message: error.message)
      }
    }
    return String(decoding: withoutBlanks(text), as: UTF8.self)
  }

  private static func withoutBlanks(_ json: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var (isInString, isEscaped) = (false, false)
    for byte in json {
      if isInString {
        (isInString, isEscaped) = (
          isEscaped || byte != UInt8(ascii: "\""), !isEscaped && byte == UInt8(ascii: "\\")
        )
      } else if [0x09, 0x0A, 0x0D, 0x20].contains(byte) {
        continue
      } else {
        isInString = byte == UInt8(ascii: "\"")
      }
      out.append(byte)
    }
    return out
  }
}
