import Simulator

/// A search as people type it: words, "words together", name:value, and - before what to exclude. A
/// word without a name is searched in the payload, its texts, the reason and the identifiers.
struct PushSearch: Sendable {
  typealias Condition = KeptPushes.Condition

  /// Fulfilled by the matches; nil if all pushes match.
  let condition: Condition?
  /// Whether the page shall show only pushes that its user has seen, or only the others; nil for
  /// both. The simulator does not know them.
  private(set) var seen: Bool?

  init(_ text: String, _ strings: LocalizedStrings? = nil) {
    var conditions: [Condition] = []
    for word in SearchWord.all(in: text) {
      if word.name == "is", let seen = ["seen": true, "unseen": false][word.value] {
        self.seen = seen != word.isExcluded
        continue
      }
      let condition = Self.condition(word, strings)
      if word.isExcluded {
        conditions.append { !condition($0) }
      } else {
        conditions.append(condition)
      }
    }
    condition = Self.all(conditions)
  }

  private static func all(_ conditions: [Condition]) -> Condition? {
    if conditions.isEmpty { return nil }
    return { push in conditions.allSatisfy { $0(push) } }
  }

  private static func condition(_ word: SearchWord, _ strings: LocalizedStrings?) -> Condition {
    guard let name = word.name, let named = named[name] else {
      // An unknown name is part of the text: payloads are full of colons.
      return text(word.name.map { "\($0):\(word.value)" } ?? word.value, strings)
    }
    return named(word.value)
  }

  private static let named: [String: @Sendable (String) -> Condition] = [
    "protocol": { value in
      let start = value.filter { $0 != "/" }
      let (isBinary, isHTTP2) = ("binary".hasPrefix(start), "http2".hasPrefix(start))
      return { $0.isHTTP2 ? isHTTP2 : isBinary }
    },
    "connection": { value in
      let number = Int(value)
      return { $0.connection == number }
    },
    "outcome": { value in
      let outcomes = RecentPush.Outcome.allCases.filter { $0.rawValue.hasPrefix(value) }
      return { outcomes.contains($0.outcome) }
    },
    "status": { value in
      let status = Int(value)
      return { status != nil && $0.status == status }
    },
    "reason": { SearchText($0).isIn(.reason) },
    "token": token,
    "topic": { SearchText($0).isIn(.topic) },
    "channel": { SearchText($0).isIn(.channel) },
    "number": { value in
      let number = Int(value)
      return { $0.number == number }
    },
    "findings": findings,
    "is": { value in
      switch value {
      case "duplicate": { $0.isDuplicate }
      case "silent": { PushBanner($0.payload, nil)?.isSilent ?? false }
      default: { _ in false }
      }
    },
  ]

  @Sendable private static func token(_ value: String) -> Condition {
    let digits = value.compactMap { $0.hexDigitValue.map(UInt8.init) }
    return { push in
      let token = push.token
      var start = 0
      while start + digits.count <= 2 * token.count {
        var same = 0
        while same < digits.count, digit(start + same, of: token) == digits[same] { same += 1 }
        if same == digits.count { return true }
        start += 1
      }
      return false
    }
  }

  private static func digit(_ index: Int, of token: UnsafeBufferPointer<UInt8>) -> UInt8 {
    token[index >> 1] >> (index & 1 == 0 ? 4 : 0) & 15
  }

  @Sendable private static func findings(_ value: String) -> Condition {
    switch value {
    case "yes": { PayloadFindings.summary(of: $0.copy).count > 0 }
    case "no", "none": { PayloadFindings.summary(of: $0.copy).count == 0 }
    case "error": { PayloadFindings.summary(of: $0.copy).hasError }
    case "warning":
      {
        let (count, hasError) = PayloadFindings.summary(of: $0.copy)
        return count > 0 && !hasError
      }
    default: { _ in false }
    }
  }

  private static func text(_ value: String, _ strings: LocalizedStrings?) -> Condition {
    let part = SearchText(value)
    return { push in
      let payload = push.payload
      return part.isIn(payload) || part.isIn(push[.reason]) || part.isIn(push[.identifier])
        || part.isIn(push[.uniqueIdentifier]) || bannerHas(part, payload, strings)
    }
  }

  /// The payload is read only if its texts can differ from its bytes.
  private static func bannerHas(
    _ part: SearchText, _ payload: UnsafeBufferPointer<UInt8>, _ strings: LocalizedStrings?
  ) -> Bool {
    let hasEscape = payload.contains(UInt8(ascii: "\\"))
    guard hasEscape || (strings != nil && localizationKey.isIn(payload)),
      let banner = PushBanner(payload, strings)
    else { return false }
    return part.isIn(banner.title) || part.isIn(banner.subtitle) || part.isIn(banner.body)
  }

  private static let localizationKey = SearchText("loc-key")
}

extension SearchText {
  fileprivate func isIn(_ text: KeptPush.Text) -> PushSearch.Condition { { isIn($0[text]) } }
}
