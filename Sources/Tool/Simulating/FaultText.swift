import Simulator

/// The help text about faults and the control API.
enum FaultText {
  static var list: String {
    FaultField.groups.map { group in
      "  \(group.title):\n\n"
        + group.fields.map { HelpEntry.text("\($0.name)=\($0.value)", $0.text) }.joined(
          separator: "\n")
    }.joined(separator: "\n\n")
  }

  static let control = HelpEntry.list([
    "GET /counters": "the totals so far",
    "GET /accepted?from=0&limit=1000":
      "accepted notifications; \"next\" is the start of the next page",
    "GET /connections": "open connections to the gateway, with their protocol and their counts",
    "DELETE /connections/N?end=fin":
      "ends connection N: close_notify, fin, reset or stall; default: fin",
    "GET /channels": "the broadcast channels, with their subscribers and stored messages",
    "GET /subscriptions": "the channels to which devices subscribe",
    "POST /subscriptions": """
    subscribes a device to a channel, {"token": hex, "channel": ID}, and delivers the channel's \
    stored message; DELETE ends the subscription
    """,
    "GET /activities":
      "the Live Activities of all devices: state, content, and numbers of updates and of outdated ones",
    "GET /faults": "the faults in force, and the seed",
    "PUT /faults": "replaces the faults: an object, or an array of rules",
    "PATCH /faults": "adds these faults to those in force; null removes one",
    "DELETE /faults": "removes all faults: closed ports open, stalled connections continue",
    "GET /unregistered": "the devices that the feedback service will send",
    "POST /unregistered": """
    adds a device, {"token": hex, "timestamp": UNIX seconds}, default: now; over the binary \
    interface pushes to it are accepted; over HTTP/2 they are rejected with "reason", \
    Unregistered (default) or ExpiredToken
    """,
    "DELETE /unregistered": "removes all of them",
    "GET /rejections": "the devices whose pushes are rejected over HTTP/2",
    "POST /rejections": """
    adds a device, {"token": hex, "reason": Apple's word or "STATUS WORD", "times": n}; default: \
    every push; DELETE removes all of them
    """,
    "POST /reset": """
    clears counters, accepted, unregistered, rejections and Live Activities; faults and channels stay
    """,
    "POST /worlds": """
    makes a world: ports of its own, with their own faults, devices, counters, connections and \
    channels, and this API below /worlds/N; it starts with the simulator's options, or with \
    {"faults", "seed", "topics", "team_topics", "no_broadcasts", "channels_max", "environment", \
    "check_payload"}; GET lists the worlds
    """,
    "DELETE /worlds/N": "ends world N and its connections, and returns its totals",
    "POST /shutdown": "ends the run",
  ])
}
