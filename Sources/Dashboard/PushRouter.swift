import NIOHTTP1
import Simulator

/// Lists the recent pushes, shows one, downloads it, deletes it, or repeats it.
///
///     GET    /pushes?before=N&limit=N&language=L   the newest before N, the oldest first
///     GET    /pushes/N                             with all its bytes
///     GET    /pushes/N/payload, /pushes/N/frame    the bytes as a file
///     DELETE /pushes/N
///     POST   /pushes/N/repeat                      sent to the gateway once more
struct PushRouter: Sendable {
  let recentPushes: RecentPushes
  let languages: Languages
  let repeater: PushRepeater

  static let path = "/pushes"
  private static let pageMax = 1000

  static func takes(_ path: String) -> Bool { path == Self.path || path.hasPrefix(Self.path + "/") }

  func respond(_ method: String, _ path: String, _ query: [String: String]) async -> Response {
    if path == Self.path {
      return method == "GET" ? page(query) : .fault(405, "\(path) takes GET")
    }
    let parts = path.dropFirst(Self.path.count + 1)
      .split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let number = Int(parts[0]) else {
      return .fault(404, "not found")
    }
    let verb = parts.count == 2 ? String(parts[1]) : ""
    guard
      let methods = [
        "": ["GET", "DELETE"], "payload": ["GET"], "frame": ["GET"],
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
    case "payload": return file(Array(push.payloadBytes), "push-\(number)-payload")
    case "frame": return file(push.bytes, "push-\(number)-frame")
    case "repeat": return await repeater.respond(push)
    default:
      if method == "GET" { return .json(PushJSON.details(push)) }
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

  private func page(_ query: [String: String]) -> Response {
    var numbers: [String: Int] = [:]
    for name in ["before", "limit"] {
      guard let text = query[name] else { continue }
      guard let number = Int(text), number >= 0 else {
        return .fault(400, "\(name)=\(text) is not a number")
      }
      numbers[name] = number
    }
    let page = recentPushes.page(
      before: numbers["before"] ?? .max, limit: min(numbers["limit"] ?? 100, Self.pageMax))
    let strings = languages.strings(for: query["language"])
    let pushes = page.recentPushes.map { PushJSON.summary($0, strings) }
    return .json("{\"older\":\(page.hasOlder),\"pushes\":[\(pushes.joined(separator: ","))]}")
  }
}
