import Simulator

/// A search as people type it: words, "words together", name:value, and - before what to exclude. A
/// word without a name is searched in the payload, its texts, the reason and the identifiers.
struct PushSearch: Sendable {
  typealias Condition = @Sendable (RecentPush) -> Bool

  private let conditions: [Condition]
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
    self.conditions = conditions
  }

  func matches(_ push: RecentPush) -> Bool { conditions.allSatisfy { $0(push) } }

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
      return { $0.form.protocolName.hasPrefix(start) }
    },
    "connection": { value in { "\($0.connection)" == value } },
    "outcome": { value in { $0.outcome.hasPrefix(value) } },
    "status": { value in { $0.status.map { "\($0)" } == value } },
    "reason": { value in
      let part = SearchText(value)
      return { part.isIn($0.reason) }
    },
    "token": token,
    "topic": { value in
      let part = SearchText(value)
      return { part.isIn($0.topic) }
    },
    "channel": { value in
      let part = SearchText(value)
      return { part.isIn($0.broadcast?.channel) }
    },
    "number": { value in { "\($0.number)" == value } },
    "findings": findings,
    "is": { value in
      switch value {
      case "duplicate": { $0.isDuplicate }
      case "silent": { PushBanner($0.payloadBytes, nil)?.isSilent ?? false }
      default: { _ in false }
      }
    },
  ]

  @Sendable private static func token(_ value: String) -> Condition {
    let digits = value.compactMap { $0.hexDigitValue.map(UInt8.init) }
    return { push in
      var start = 0
      while start + digits.count <= 2 * push.token.count {
        var same = 0
        while same < digits.count, digit(start + same, of: push.token) == digits[same] { same += 1 }
        if same == digits.count { return true }
        start += 1
      }
      return false
    }
  }

  private static func digit(_ index: Int, of token: [UInt8]) -> UInt8 {
    token[index >> 1] >> (index & 1 == 0 ? 4 : 0) & 15
  }

  @Sendable private static func findings(_ value: String) -> Condition {
    switch value {
    case "yes": { PayloadFindings.summary(of: $0).count > 0 }
    case "no", "none": { PayloadFindings.summary(of: $0).count == 0 }
    case "error": { PayloadFindings.summary(of: $0).hasError }
    case "warning":
      {
        let (count, hasError) = PayloadFindings.summary(of: $0)
        return count > 0 && !hasError
      }
    default: { _ in false }
    }
  }

  private static func text(_ value: String, _ strings: LocalizedStrings?) -> Condition {
    let part = SearchText(value)
    return { push in
      part.isIn(push.payloadBytes) || part.isIn(push.reason) || part.isIn(push.form.identifierText)
        || part.isIn(push.uniqueIdentifier) || bannerHas(part, push, strings)
    }
  }

  /// The payload is read only if its texts can differ from its bytes.
  private static func bannerHas(
    _ part: SearchText, _ push: RecentPush, _ strings: LocalizedStrings?
  ) -> Bool {
    let hasEscape = push.payloadBytes.contains(UInt8(ascii: "\\"))
    guard hasEscape || (strings != nil && localizationKey.isIn(push.payloadBytes)),
      let banner = PushBanner(push.payloadBytes, strings)
    else { return false }
    return part.isIn(banner.title) || part.isIn(banner.subtitle) || part.isIn(banner.body)
  }

  private static let localizationKey = SearchText("loc-key")
}

extension RecentPush.Form {
  fileprivate var protocolName: String {
    switch self {
    case .binary: "binary"
    case .http2: "http2"
    }
  }

  fileprivate var identifierText: String? {
    switch self {
    case .binary(_, let identifier, _, _): identifier.map { "\($0)" }
    case .http2(_, let identifier, _): identifier
    }
  }
}
