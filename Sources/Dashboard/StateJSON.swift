import Simulator

/// The simulator's state without its pushes.
enum StateJSON {
  /// At most so many connections, devices and feedback entries, the newest ones.
  private static let most = 200

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
      "devices":{"count":\(devices.count),"newest":[\(newest.joined(separator: ","))]}}
      """
  }

  private static func text(_ text: String?) -> String { text.map(JSONLiteral.string) ?? "null" }
}
