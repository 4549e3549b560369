/// The host names that a listener accepts. A foreign page can point its own name to this machine
/// (DNS rebinding), and would read the responses.
package struct ListenerNames: Sendable {
  private let host: String
  private let isOpen: Bool

  /// `host` is the listener's address.
  package init(listeningOn host: String) {
    let text = host.lowercased()
    self.host = text.contains(":") && !text.hasPrefix("[") ? "[\(text)]" : text
    isOpen = !Authority.isLoopback(text)
  }

  /// A listener that other machines reach also accepts numeric addresses, which no page has as its
  /// name.
  package func contains(_ authority: Authority) -> Bool {
    authority.isLoopback || authority.host == host || isOpen && authority.isAddress
  }
}
