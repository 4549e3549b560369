/// Writes a configuration as a file, with every option and its meaning.
package enum ConfigurationText {
  /// The output of `--print-config` without a file: an app as a starting point.
  package static var example: RelayConfiguration {
    var all = RelayConfiguration()
    all.queue = RelayConfiguration.Queue(at: "queue.db")
    var app = AppConfiguration()
    app.name = "shop"
    app.topic = "com.example.shop"
    app.credentials.p8 = "AuthKey_ABC123DEFG.p8"
    app.credentials.keyID = "ABC123DEFG"
    app.credentials.teamID = "DEF123GHIJ"
    all.apps = [app]
    return all
  }

  package static func text(of all: RelayConfiguration) -> String {
    var text = OptionText()
    text.lines = ["# Relative paths start at this file's directory."]
    for option in RelayConfiguration.options { option.write(all, &text) }
    text.below("apps") { text in
      for app in all.apps {
        text.below(app.name) { text in
          for option in AppConfiguration.options { option.write(app, &text) }
        }
      }
    }
    let end = text.lines.count
    text.below("listeners") { text in
      for listener in all.listeners.isEmpty ? exampleListeners : all.listeners {
        text.below(listener.name) { listener.write(&$0) }
      }
    }
    // Listeners are never on by default.
    if all.listeners.isEmpty {
      for index in text.lines[end...].indices { text.lines[index] = "# " + text.lines[index] }
    }
    return text.lines.joined(separator: "\n") + "\n"
  }

  private static var exampleListeners: [ListenerConfiguration] {
    var web = HTTPListenerConfiguration()
    web.name = "web"
    var gateway = BinaryListenerConfiguration()
    gateway.name = "gateway"
    gateway.fingerprints = [String(repeating: "0", count: 64): "shop"]
    return [.http(web), .binary(gateway)]
  }
}
