import JSON
import Simulator

/// The simulator's state without its pushes.
enum StateJSON {
  /// The limit for each list, which has the newest connections, devices, feedback entries, channels
  /// of an app or Live Activities.
  private static let limit = 200
  /// The number of subscribers that the page draws for each channel.
  private static let subscribersLimit = 12

  static func json(of service: ControlService) async -> String {
    let faults = await service.response(
      to: ControlService.Request(method: "GET", path: "/faults"))
    let devices = service.ledger.recentPushes?.devices(limit: limit) ?? (newest: [], count: 0)
    let newest = devices.newest.map { device in
      """
      {"token":"\(TokenField.hex(device.token))","topic":\(JSONLiteral.string(device.topic)),\
      "pushes":\(device.pushes),"last":\(device.last),"time":\(device.time),\
      "outcome":"\(device.outcome.rawValue)","gone":\(JSONLiteral.string(service.reasonGone(device.token)))}
      """
    }
    return """
      {"counters":\(service.counters),"connections":\(service.connections(newest: limit)),\
      "faults":\(faults.json),"feedback":\(service.unregisteredList(newest: limit)),\
      "devices":{"count":\(devices.count),"newest":[\(newest.joined(separator: ","))]},\
      "channels":\(service.broadcasts.channelList(newest: limit, subscribers: subscribersLimit)),\
      "activities":\(service.broadcasts.activityList(newest: limit))}
      """
  }
}
