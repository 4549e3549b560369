/// The names that a listener answers to. A page from elsewhere can have its own name lead to this
/// machine (DNS rebinding), and would read what it gets.
package struct ListenerNames: Sendable {
  private let host: String
  private let isOpen: Bool

  /// `host`: where it listens.
  package init(listeningOn host: String) {
    let text = host.lowercased()
    self.host = text.contains(":") && !text.hasPrefix("[") ? "[\(text)]" : text
    isOpen = !Authority.isLoopback(text)
  }

  /// One that listens beyond this machine answers to addresses in digits too, which are no page's
  /// name.
  package func contains(_ authority: Authority) -> Bool {
    authority.isLoopback || authority.host == host || isOpen && authority.isAddress
  }
}
