/// What a node of a cluster answers where it does not do a command, and somebody may.
enum RedisRedirect {
  /// That node has the slot from now on.
  case moved(RedisAddress.Place)
  /// That node may have it already, for this once.
  case ask(RedisAddress.Place)
  /// The keys are on their way to another node.
  case again
  /// The node cannot do anything now.
  case away

  /// nil: the words say something else. `host`: whose answer it is, which is meant where none is named.
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
