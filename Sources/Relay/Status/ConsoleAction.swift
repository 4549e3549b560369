import Foundation
import JSON
import Logging

/// An operator's action on the page. Each one is in the log.
struct ConsoleAction: Decodable {
  enum Action: String, Decodable { case pause, resume, cancel, limit, retry, discard }

  var action: Action
  var app: String
  /// nil for the whole app.
  var campaign: String?
  /// The IDs of dead letters.
  var ids: [String]?
  /// The new limit; nil for none.
  var perSecond: Int?

  private static let mostIDs = 1000

  private struct Refusal: Error {
    var status: Int
    var text: String
  }

  private struct Done {
    var text: String
    var devices: Int
  }

  private var subject: String { campaign ?? app }

  static func response(
    _ request: StatusServer.Request, by visitor: ConsoleAccess.Visitor, _ console: Console
  ) -> StatusServer.Response {
    // A foreign page cannot send this type without asking first.
    let type = request.values("content-type").first?.prefix { $0 != ";" }.lowercased()
    guard type == "application/json" else { return .fault(415, "application/json only") }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    guard let order = try? decoder.decode(Self.self, from: Data(request.body)) else {
      return .fault(400, "not an action")
    }
    guard visitor.sees(order.app), console.apps().contains(where: { $0.app == order.app }) else {
      return .fault(404, "there is no app '\(order.app)'")
    }
    var metadata: Logger.Metadata = [
      "kind": "action", "action": "\(order.action)", "app": "\(order.app)",
      "client": "\(request.client)",
    ]
    metadata["campaign"] = order.campaign.map { "\($0)" }
    metadata["ids"] = order.ids.map { "\($0.joined(separator: " "))" }
    metadata["token_line"] = visitor.line.map { .stringConvertible($0) }
    do {
      let done = try order.carryOut(console)
      metadata["devices"] = .stringConvertible(done.devices)
      console.log.notice("an operator: \(done.text)", metadata: metadata)
      console.hasten()
      console.look(order.app)
      return .json(
        "{\"devices\":\(done.devices),\"text\":\(JSONLiteral.string(done.text))}")
    } catch {
      let refusal = error as? Refusal ?? Refusal(status: 409, text: "\(error)")
      console.log.warning(
        "an operator's \(order.action) of \(order.subject) failed: \(refusal.text)",
        metadata: metadata)
      return .fault(refusal.status, refusal.text)
    }
  }

  private func carryOut(_ console: Console) throws -> Done {
    let store = OrderStore(console.queue, app: app)
    let now = RelayClock.now
    let left = console.left(app, campaign)?.devices ?? 0
    switch action {
    case .retry, .discard: return try letters(console, now)
    case .cancel:
      guard let campaign else { throw Refusal(status: 400, text: "campaign is missing") }
      try demandCampaign(console)
      try store.advance(by: store.cancel(campaign, at: now), at: now)
      return Done(text: "\(campaign) is cancelled", devices: left)
    case .pause:
      try demandCampaign(console)
      try store.pause(campaign, at: now)
      return Done(text: "\(subject) is paused", devices: left)
    case .resume:
      try demandCampaign(console)
      try store.resume(campaign, at: now)
      return Done(text: "\(subject) is resumed", devices: left)
    case .limit:
      if let perSecond, !Orders.perSecond.contains(perSecond) {
        throw Refusal(
          status: 400,
          text:
            "per_second must be \(Orders.perSecond.lowerBound) to \(Orders.perSecond.upperBound)")
      }
      try demandCampaign(console)
      try store.limit(campaign, to: perSecond, at: now)
      let limit = perSecond.map { "at most \($0) a second" } ?? "no limit"
      return Done(text: "\(subject) has \(limit)", devices: left)
    }
  }

  /// Refuses a campaign that the queue does not know.
  private func demandCampaign(_ console: Console) throws {
    guard let campaign else { return }
    let isKnown =
      try console.queue.campaignOutcomes(app: app)[campaign] != nil
      || OrderStore(console.queue, app: app).read().campaigns[campaign] != nil
      || !console.queue.left(.campaign(campaign), app: app).isEmpty
    guard isKnown else { throw Refusal(status: 404, text: "\(app) has no campaign '\(campaign)'") }
  }

  private func letters(_ console: Console, _ now: Int64) throws -> Done {
    guard let ids, !ids.isEmpty, ids.count <= Self.mostIDs else {
      throw Refusal(status: 400, text: "ids must be 1 to \(Self.mostIDs) IDs of dead letters")
    }
    var (entries, devices) = (0, 0)
    try console.queue.readDeadLetters(app: app, ids: Set(ids)) { part in
      if action == .retry {
        let given = try console.queue.retry(part, app: app, at: now)
        entries += given.count
        devices += given.values.reduce(0, +)
      } else {
        entries += try console.queue.discard(part, app: app)
        devices += part.reduce(0) { $0 + $1.devices }
      }
    }
    guard entries > 0 else {
      throw Refusal(
        status: 409, text: "none of them is a dead letter that can be given back or discarded")
    }
    let what = action == .retry ? "given back" : "discarded"
    return Done(
      text: "\(entries) dead \(entries == 1 ? "letter" : "letters") \(what)", devices: devices)
  }
}
