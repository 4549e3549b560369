import Simulator

/// The simulator's state without its pushes.
enum StateJSON {
  /// The limit for each list: connections, devices, feedback entries, channels of an app and Live
  /// Activities, the newest ones.
  private static let most = 200
  /// The number of subscribers that the page draws for each channel.
  private static let subscribersMost = 12

  static func json(of service: ControlService) async -> String {
    let faults = await service.answer(ControlService.Request(method: "GET", path: "/faults"))
    let devices = service.ledger.recentPushes?.devices(limit: most) ?? (newest: [], count: 0)
    let newest = devices.newest.map { device in
      """
      {"token":"\(TokenField.hex(device.token))","topic":\(text(device.topic)),\
      "pushes":\(device.pushes),"last":\(device.last),"time":\(device.time),\
      "fate":"\(device.fate)","gone":\(text(service.reasonGone(device.token)))}
      """
    }
    return """
      {"counters":\(service.counters),"connections":\(service.connections(newest: most)),\
      "faults":\(faults.json),"feedback":\(service.unregisteredList(newest: most)),\
      "devices":{"count":\(devices.count),"newest":[\(newest.joined(separator: ","))]},\
      "channels":\(service.broadcasts.channelList(newest: most, subscribers: subscribersMost)),\
      "activities":\(service.broadcasts.activityList(newest: most))}
      """
  }

  private static func text(_ text: String?) -> String { text.map(JSONLiteral.string) ?? "null" }
}
