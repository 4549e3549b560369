import CAPNS
import Client
import Foundation
import JSON

/// A channel management request.
struct ManagementRequest: Sendable {
  enum Wish: Equatable, Sendable {
    case create(storage: UInt32)
    case describe(String)
    case delete(String)
    case list
  }

  var wish: Wish
  var app: AppConfiguration
  var bundle: String
}

extension ManagementRequest {
  init(_ request: ListenerRequest, app: AppConfiguration, bundle: String) throws(ListenerResponse) {
    if request.method == "POST" {
      self.init(wish: .create(storage: try Self.storage(request.body)), app: app, bundle: bundle)
      return
    }
    guard let id = request.header("apns-channel-id"), !id.isEmpty else {
      throw .refusal(400, "MissingChannelId")
    }
    guard Data(base64Encoded: id) != nil, id.utf8.count <= Int(APNS_CHANNEL_ID_MAX) else {
      throw .refusal(400, "BadChannelId", "apns-channel-id is not base64")
    }
    self.init(
      wish: request.method == "GET" ? .describe(id) : .delete(id), app: app, bundle: bundle)
  }

  private static func storage(_ body: [UInt8]) throws(ListenerResponse) -> UInt32 {
    let members: [(name: String, value: ArraySlice<UInt8>)]
    do {
      guard let text = String(validating: body, as: UTF8.self) else {
        throw RawJSON.Fault(offset: 0, message: "expected UTF-8")
      }
      members = try RawJSON(text).members()
    } catch {
      throw .refusal(400, "CannotCreateChannelConfig", "the body: \(error)")
    }
    func value(_ name: String) -> String? {
      members.last { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }
    guard let type = value("push-type") else { throw .refusal(400, "MissingPushType") }
    guard type.lowercased() == "\"liveactivity\"" else {
      throw .refusal(400, "InvalidPushType", "a channel has the push type LiveActivity")
    }
    switch value("message-storage-policy") {
    case "0": return APNS_STORAGE_NONE.rawValue
    case "1": return APNS_STORAGE_LATEST.rawValue
    default:
      throw .refusal(400, "CannotCreateChannelConfig", "message-storage-policy is 0 or 1")
    }
  }
}

/// Runs channel management requests. They are not queued: the response follows that of APNs.
final class ChannelManagement: Sendable {
  private let engine: any ProviderTokenStore
  /// Separate threads, because the library blocks while it waits for APNs.
  private let workers: OperationQueue

  init(_ engine: any ProviderTokenStore) {
    self.engine = engine
    workers = OperationQueue()
    workers.maxConcurrentOperationCount = 4
  }

  func carryOut(
    _ order: ManagementRequest, _ answer: @escaping @Sendable (ListenerResponse) -> Void
  ) {
    workers.addOperation { [engine] in answer(Self.answer(order, engine)) }
  }

  private static func answer(_ order: ManagementRequest, _ engine: any ProviderTokenStore)
    -> ListenerResponse
  {
    let (service, credentials): (ChannelService, RelayCredentials)
    do {
      (service, credentials) = try open(order, engine)
    } catch {
      return .refusal(503, "ServiceUnavailable", "\(error)")
    }
    return withExtendedLifetime(credentials) {
      do throws(LibraryError) {
        return try carryOut(order.wish, service)
      } catch {
        let said = service.answer
        guard said.httpStatus > 0 else {
          return .refusal(503, "ServiceUnavailable", error.message)
        }
        // APNs accepted it, or returned neither success nor an error, and the rest of the
        // response is unreadable.
        guard (400..<600).contains(said.httpStatus) else {
          return .refusal(502, "Unknown", error.message)
        }
        let answer = ListenerResponse.refusal(
          Int(said.httpStatus), said.reason, said.reason.isEmpty ? error.message : nil)
        return said.retryAfter > 0 ? answer.with("retry-after", "\(said.retryAfter)") : answer
      }
    }.withRequest(service.answer.requestIdentifier)
  }

  private static func open(
    _ order: ManagementRequest, _ engine: any ProviderTokenStore
  ) throws -> (ChannelService, RelayCredentials) {
    let app = order.app
    let credentials = try RelayCredentials(app, queue: engine, log: nil)
    var options = ChannelService.Options()
    options.peer.host = app.channels.host
    options.peer.port = UInt16(clamping: app.channels.port)
    options.peer.serverName = app.channels.serverName ?? app.serverName
    options.peer.isSandbox = app.environment == .sandbox
    app.proxy.use(in: &options.peer)
    options.topic = order.bundle
    return (try ChannelService(options, credentials: credentials.handle), credentials)
  }

  private static func carryOut(
    _ wish: ManagementRequest.Wish, _ service: ChannelService
  ) throws(LibraryError) -> ListenerResponse {
    switch wish {
    case .create(let storage):
      return ListenerResponse(201)
        .with("apns-channel-id", try service.create(apns_storage_t(rawValue: storage)))
    case .describe(let id):
      let said = try service.describe(id)
      guard said.pushType == Int32(APNS_PUSH_TYPE_LIVEACTIVITY.rawValue),
        [APNS_STORAGE_NONE, APNS_STORAGE_LATEST].contains(where: {
          Int32($0.rawValue) == said.storage
        })
      else {
        return .refusal(502, "Unknown", "the description of the channel is unknown to this relay")
      }
      return .json(
        200, "{\"message-storage-policy\":\(said.storage),\"push-type\":\"LiveActivity\"}")
    case .delete(let id):
      try service.delete(id)
      return ListenerResponse(204)
    case .list:
      var ids: [String] = []
      try service.list { ids.append(JSONLiteral.string($0)) }
      return .json(200, "{\"channels\":[\(ids.joined(separator: ","))]}")
    }
  }
}

extension ListenerResponse {
  fileprivate func withRequest(_ id: String) -> Self {
    id.isEmpty ? self : with("apns-request-id", id)
  }
}
