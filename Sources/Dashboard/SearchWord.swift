/// A word of a search, in lower case.
struct SearchWord: Equatable {
  var isExcluded: Bool
  /// The letters before the colon; nil without them.
  var name: String?
  var value: String

  static func all(in text: String) -> [SearchWord] {
    var rest = text.lowercased()[...]
    var words: [SearchWord] = []
    while true {
      rest = rest.drop(while: \.isWhitespace)
      if rest.isEmpty { return words }
      let word = SearchWord(readingFrom: &rest)
      if !word.value.isEmpty { words.append(word) }
    }
  }

  private init(readingFrom rest: inout Substring) {
    isExcluded = rest.first == "-" && Self.begins(rest.dropFirst())
    if isExcluded { rest.removeFirst() }
    let letters = rest.prefix { ("a"..."z").contains($0) }
    let afterName = rest[letters.endIndex...]
    if !letters.isEmpty, afterName.first == ":", Self.begins(afterName.dropFirst()) {
      name = String(letters)
      rest = afterName.dropFirst()
    }
    if rest.first == "\"" {
      value = String(rest.dropFirst().prefix { $0 != "\"" })
      rest = rest.dropFirst(value.count + 2)
    } else {
      value = String(rest.prefix { !$0.isWhitespace })
      rest = rest.dropFirst(value.count)
    }
  }

  /// Whether a word goes on there.
  private static func begins(_ rest: Substring) -> Bool {
    rest.first.map { !$0.isWhitespace } ?? false
  }
}
