/// The gentle end of a session.
extension Session where Net: ~Copyable {
  /// Writes what waits, with proof behind it, and listens until the gateway ends the
  /// connections too; what has no end then becomes unknown.
  mutating func close(by deadline: Int64) {
    guard !isClosed else { return }
    // What has no connection now gets none any more.
    for index in 0..<options.connections where lanes[index].use == .opening {
      close(lanes + index)
    }
    if hasConnection {
      for index in 0..<options.connections where lanes[index].use == .open {
        lanes[index].wantsProof = options.usesSentinel && !lanes[index].window.isEmpty
      }
      // What cannot be written any more ends as unknown, like all that has no end.
      try? pursue(.lastWriting, by: deadline)
    }
    for index in 0..<options.connections {
      dropSpare(lanes + index)
      if lanes[index].use == .open { network.sayGoodbye(lanes[index].line.number) }
    }
    for index in 0..<options.connections where lanes[index].use == .open {
      try? hear(lanes + index)
    }
    while listen() {
      if network.now >= deadline { break }
      network.wait(until: deadline)
    }
    for index in 0..<options.connections {
      close(lanes + index)
      lanes[index].window.abandon()
    }
    isClosed = true
  }

  /// Hears the last words; false when nobody has any more to say.
  private mutating func listen() -> Bool {
    var isListening = false
    for index in 0..<options.connections where lanes[index].use == .open {
      try? hearIfDue(lanes + index)
      if lanes[index].use == .open {
        network.watch(lanes[index].line.number, for: .reading)
        isListening = true
      }
    }
    return isListening
  }
}
