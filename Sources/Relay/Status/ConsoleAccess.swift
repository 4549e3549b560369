import Foundation
import HTTPServer
import Synchronization

/// Decides who may see the page and act there.
final class ConsoleAccess: Sendable {
  struct Visitor: Sendable {
    /// The apps that it may see; nil for all.
    var apps: Set<String>?
    /// The line of its token in the authorization file; nil if none is needed.
    var line: Int?

    func sees(_ app: String) -> Bool { apps?.contains(app) ?? true }
  }

  private let isLocal: Bool
  private let file: String?
  private let list: Mutex<AuthorizationList?>

  init(_ status: RelayConfiguration.Status, apps: [String]) throws {
    isLocal = status.isLocal
    file = status.authorizationFile
    list = Mutex(try Self.list(status, apps: apps))
  }

  static func list(_ status: RelayConfiguration.Status, apps: [String]) throws -> AuthorizationList?
  {
    do {
      return try status.authorizationFile.map {
        try AuthorizationList(file: $0, apps: apps, own: nil)
      }
    } catch {
      throw RelayFault("status.authorization_file: \(error)")
    }
  }

  /// Reads the authorization file again. If that fails, the old list stays in force.
  func refresh(apps: [String]) throws {
    guard let file else { return }
    let new = try AuthorizationList(file: file, apps: apps, own: nil)
    list.withLock { $0 = new }
  }

  /// The visitor. Throws the response that refuses the request.
  func visitor(_ request: StatusServer.Request) throws(StatusServer.Response) -> Visitor {
    let isRead = request.method != "POST"
    if let authority = request.authority {
      if let fault = PageOrigin.fault(
        isGet: isRead, at: authority, behindTLS: true, request.values)
      {
        throw .fault(403, fault)
      }
    } else if !request.values("origin").isEmpty {
      throw .fault(403, "foreign Origin")
    }
    guard let list = list.withLock({ $0 }) else {
      if isLocal { return Visitor() }
      throw .fault(403, "the page needs status.authorization_file, because other machines reach it")
    }
    guard let token = Self.token(request), let owner = list.owner(ofToken: token) else {
      var refusal = StatusServer.Response.fault(
        401, "a token of status.authorization_file is needed")
      refusal.header = "WWW-Authenticate: Basic realm=\"apns relay\", charset=\"UTF-8\""
      throw refusal
    }
    return Visitor(apps: owner.apps, line: owner.line)
  }

  /// Programs send a bearer token. Browsers ask for a name and a password: the token.
  private static func token(_ request: StatusServer.Request) -> String? {
    let said = request.values("authorization")
    let words = (said.first ?? "").split(separator: " ", maxSplits: 1)
    guard said.count == 1, words.count == 2 else { return nil }
    let value = words[1].trimmingCharacters(in: .whitespaces)
    switch words[0].lowercased() {
    case "bearer": return value
    case "basic":
      guard let pair = Data(base64Encoded: value).flatMap({ String(data: $0, encoding: .utf8) }),
        let colon = pair.firstIndex(of: ":")
      else { return nil }
      return String(pair[pair.index(after: colon)...])
    default: return nil
    }
  }
}
