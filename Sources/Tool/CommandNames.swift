import ArgumentParser

/// The names of the subcommands, and suggestions for misspelled ones.
enum CommandNames {
  /// The problem with a word in a subcommand's place; nil if it is a subcommand.
  static func fault(in arguments: ArraySlice<String>) -> String? {
    var words = arguments
    guard let first = words.popFirst() else { return nil }
    // "apns help WORD" names a subcommand too.
    let word = first == "help" ? words.first : first
    if first != "help", let second = words.first, let known = below[first] {
      return fault(second, known, of: " of \(first)", elsewhere: otherChannelNames)
    }
    return word.flatMap { fault($0, all, of: "", elsewhere: elsewhere) }
  }

  private static func fault(
    _ word: String, _ known: [String], of parent: String, elsewhere: [String: String]
  ) -> String? {
    guard !word.isEmpty, !word.hasPrefix("-"), word != "help", !known.contains(word) else {
      return nil
    }
    let text = "'\(word)' is not a subcommand\(parent)"
    if let suggestion = nearest(to: word, known, elsewhere) {
      return "\(text). Did you mean '\(suggestion)'?"
    }
    return "\(text): the subcommands are \(known.joined(separator: ", "))"
  }

  private static let all = names(of: APNSCommand.self)
  /// The names below commands that have subcommands.
  private static let below = ["channel": names(of: ChannelCommand.self)]

  private static func names(of command: any ParsableCommand.Type) -> [String] {
    command.configuration.subcommands.map { $0._commandName }
  }

  /// Names that other programs use for these subcommands.
  private static let elsewhere = [
    "push": "send", "notify": "send", "check": "doctor", "diagnose": "doctor", "server": "simulate",
    "gateway": "simulate", "version": "--version", "completion": "completions",
    "channels": "channel", "broadcast": "send",
  ]
  private static let otherChannelNames = [
    "new": "create", "add": "create", "get": "show", "describe": "show", "ls": "list",
    "rm": "delete", "remove": "delete",
  ]

  private static func nearest(
    to word: String, _ all: [String], _ elsewhere: [String: String]
  ) -> String? {
    let word = word.lowercased()
    if let known = elsewhere[word] { return known }
    // More than one mistake in three letters makes it a different word.
    let near = all.map { (name: $0, slips: slips(between: word, and: $0)) }
      .filter { $0.slips <= max(1, max(word.count, $0.name.count) / 3) }
      .min { $0.slips < $1.slips }
    if let near { return near.name }
    let begun = all.filter { $0.hasPrefix(word) || word.hasPrefix($0) }
    return begun.count == 1 ? begun[0] : nil
  }

  /// The number of letters added, removed, changed, or swapped with the next one (Damerau and
  /// Levenshtein).
  private static func slips(between one: String, and other: String) -> Int {
    let (one, other) = (Array(one.unicodeScalars.prefix(64)), Array(other.unicodeScalars))
    var before: [Int] = []
    var above = Array(0...other.count)
    for row in 0..<one.count {
      var line = [row + 1]
      for column in 0..<other.count {
        let isSame = one[row] == other[column]
        var least = min(above[column] + (isSame ? 0 : 1), above[column + 1] + 1, line[column] + 1)
        if row > 0, column > 0, one[row] == other[column - 1], one[row - 1] == other[column] {
          least = min(least, before[column - 1] + 1)
        }
        line.append(least)
      }
      (before, above) = (above, line)
    }
    return above[other.count]
  }
}
