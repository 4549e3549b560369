import NIOHTTP1
import Simulator

/// Lists the recent pushes, finds, shows, downloads, deletes and repeats them.
///
///     GET    /pushes?search=S&before=N&limit=N     the newest matches before N, the oldest first
///     GET    /pushes?numbers=N,N,…                 these, as far as they are kept
///     GET    /pushes/matches?search=S&after=N      the numbers of all matches after N
///     GET    /pushes/N                             with all its bytes
///     GET    /pushes/N/changes?since=N             of its payload; by default since the device's
///                                                  previous push
///     GET    /pushes/N/payload, /pushes/N/frame    the bytes as a file
///     DELETE /pushes/N
///     POST   /pushes/N/repeat                      sent to the gateway once more
///
/// `language=L` selects the language of the texts, which a search looks at too.
struct PushRouter: Sendable {
  let recentPushes: RecentPushes
  let languages: Languages
  let repeater: PushRepeater

  static let path = "/pushes"
  private static let pageMax = 1000

  static func takes(_ path: String) -> Bool { path == Self.path || path.hasPrefix(Self.path + "/") }

  func respond(_ method: String, _ path: String, _ query: [String: String]) async -> Response {
    if let list = [Self.path: page, Self.path + "/matches": matches][path] {
      return method == "GET" ? list(query) : .fault(405, "\(path) takes GET")
    }
    let parts = path.dropFirst(Self.path.count + 1)
      .split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let number = Int(parts[0]) else {
      return .fault(404, "not found")
    }
    let verb = parts.count == 2 ? String(parts[1]) : ""
    guard
      let methods = [
        "": ["GET", "DELETE"], "changes": ["GET"], "payload": ["GET"], "frame": ["GET"],
        "repeat": ["POST"],
      ][verb]
    else { return .fault(404, "not found") }
    guard methods.contains(method) else {
      return .fault(405, "\(path) takes \(methods.joined(separator: ", "))")
    }
    guard let push = recentPushes[number] else {
      return .fault(404, "push \(number) is no longer kept")
    }
    switch verb {
    case "changes": return changes(push, query)
    case "payload": return file(Array(push.payloadBytes), "push-\(number)-payload")
    case "frame": return file(push.bytes, "push-\(number)-frame")
    case "repeat": return await repeater.respond(push)
    default:
      if method == "GET" { return .json(details(push, query)) }
      // Another page may have deleted it.
      return recentPushes.delete(number)
        ? .json("{\"deleted\":\(number)}") : .fault(404, "push \(number) is no longer kept")
    }
  }

  /// Not a type that a browser would display, because these bytes may be anything.
  private func file(_ bytes: [UInt8], _ name: String) -> Response {
    Response(
      status: .ok,
      headers: [
        "content-type": "application/octet-stream",
        "content-disposition": "attachment; filename=\"\(name).bin\"",
      ], body: .whole(bytes))
  }

  private func details(_ push: RecentPush, _ query: [String: String]) -> String {
    PushJSON.details(push, languages.strings(for: query["language"]))
  }

  private func changes(_ push: RecentPush, _ query: [String: String]) -> Response {
    let kept = recentPushes.kept
    let other: RecentPush?
    do throws(NumberFault) {
      if let since = try Self.number("since", query) {
        other = kept[since]
        if other == nil { return .fault(404, "push \(since) is no longer kept") }
      } else {
        other = kept.newest(1, before: push.number, where: push.hasAddressee).pushes.first
      }
    } catch {
      return .fault(400, error.description)
    }
    guard let other else { return .json("{\"since\":null,\"changes\":[]}") }
    let changes = PayloadChanges.json(
      from: Array(other.payloadBytes), to: Array(push.payloadBytes))
    return .json("{\"since\":\(other.number),\"changes\":\(changes ?? "null")}")
  }

  private func page(_ query: [String: String]) -> Response {
    let strings = languages.strings(for: query["language"])
    do throws(NumberFault) {
      let kept = recentPushes.kept
      if let numbers = try Self.numbers("numbers", query) {
        return Self.list(numbers.prefix(Self.pageMax).compactMap { kept[$0] }, strings)
      }
      let search = PushSearch(query["search"] ?? "", strings)
      let page = kept.newest(
        min(try Self.number("limit", query) ?? 100, Self.pageMax),
        before: try Self.number("before", query) ?? .max, where: search.condition)
      return Self.list(page.pushes, strings, hasOlder: page.hasOlder, seen: search.seen)
    } catch {
      return .fault(400, error.description)
    }
  }

  private static func list(
    _ pushes: [RecentPush], _ strings: LocalizedStrings?, hasOlder: Bool = false,
    seen: Bool? = nil
  ) -> Response {
    let texts = pushes.map { PushJSON.summary($0, strings) }
    return .json(
      """
      {"older":\(hasOlder),"seen":\(json(seen)),"pushes":[\(texts.joined(separator: ","))]}
      """)
  }

  private static func json(_ flag: Bool?) -> String { flag.map { "\($0)" } ?? "null" }

  private func matches(_ query: [String: String]) -> Response {
    do throws(NumberFault) {
      let kept = recentPushes.kept
      let search = PushSearch(
        query["search"] ?? "", languages.strings(for: query["language"]))
      let runs = kept.runs(after: try Self.number("after", query) ?? 0, where: search.condition)
        .map { "[\($0.lowerBound),\($0.upperBound)]" }
      return .json(
        """
        {"first":\(kept.first ?? kept.last + 1),"last":\(kept.last),"kept":\(kept.count),\
        "dropped":\(kept.dropped),"seen":\(Self.json(search.seen)),\
        "matches":[\(runs.joined(separator: ","))]}
        """)
    } catch {
      return .fault(400, error.description)
    }
  }

  private struct NumberFault: Error {
    var description: String
  }

  private static func number(
    _ name: String, _ query: [String: String]
  ) throws(NumberFault) -> Int? {
    try numbers(name, query)?.first
  }

  /// nil without that parameter.
  private static func numbers(
    _ name: String, _ query: [String: String]
  ) throws(NumberFault) -> [Int]? {
    guard let text = query[name] else { return nil }
    var numbers: [Int] = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let number = Int(word), number >= 0 else {
        throw NumberFault(description: "\(name)=\(word) is not a number")
      }
      numbers.append(number)
    }
    return numbers
  }
}

extension RecentPush {
  @Sendable fileprivate func hasAddressee(_ other: KeptPush) -> Bool {
    guard token.elementsEqual(other.token) else { return false }
    guard let channel = broadcast?.channel else { return other[.channel] == nil }
    return other[.channel].map { channel.utf8.elementsEqual($0) } ?? false
  }
}
