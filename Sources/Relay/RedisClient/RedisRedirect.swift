/// A cluster node's refusal of a command that this or another node may run later.
enum RedisRedirect {
  /// That node has the slot from now on.
  case moved(RedisAddress.Place)
  /// That node may already have the key, for this one command.
  case ask(RedisAddress.Place)
  /// The keys are being moved to another node.
  case again
  /// The node is out of service now.
  case away

  /// nil for other errors. `host` is the node that replied, which a redirect without a host refers
  /// to.
  init?(_ words: String, from host: String) {
    let parts = words.split(separator: " ")
    switch parts.first {
    case "MOVED", "ASK":
      guard parts.count == 3, let colon = parts[2].lastIndex(of: ":"),
        let port = Int64(parts[2][parts[2].index(after: colon)...])
      else { return nil }
      let named = String(parts[2][..<colon])
      guard let place = RedisAddress.Place.node(named.isEmpty || named == "?" ? host : named, port)
      else { return nil }
      self = parts[0] == "MOVED" ? .moved(place) : .ask(place)
    case "TRYAGAIN": self = .again
    case "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY": self = .away
    default: return nil
    }
  }
}
