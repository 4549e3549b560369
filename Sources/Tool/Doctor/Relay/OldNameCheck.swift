/// Checks the addresses of Apple's old names on this machine. For a legacy program only they
/// change.
struct OldNameCheck {
  /// The relay's name or address on the command line.
  var host: String
  var resolve: (String) -> [String] = AddressList.of

  private static let pairs = [
    ("gateway.push.apple.com", "feedback.push.apple.com"),
    ("gateway.sandbox.push.apple.com", "feedback.sandbox.push.apple.com"),
  ]

  func run(_ report: inout Report) {
    let relay = resolve(host)
    // The connection reports a relay name that does not resolve.
    guard !relay.isEmpty else { return }
    if relay != [host] { report.fine(host, relay.joined(separator: ", ")) }
    let places = Dictionary(
      Self.pairs.flatMap { [$0.0, $0.1] }.map { ($0, resolve($0)) }, uniquingKeysWith: { $1 })
    func leads(_ name: String) -> Bool {
      let there = places[name] ?? []
      return !there.isEmpty && there.allSatisfy(relay.contains)
    }
    let entry = "\(relay[0])  gateway.push.apple.com feedback.push.apple.com"
    let remedy =
      "on the program's machine: \"\(entry)\" in /etc/hosts, or the same in its DNS; the relay's own machine does not need it"
    guard Self.pairs.contains(where: { leads($0.0) || leads($0.1) }) else {
      report.warning(
        "old-names-elsewhere", Self.pairs[0].0,
        "\(addressText(places[Self.pairs[0].0])), not to the relay at \(relay[0])", remedy)
      return
    }
    for pair in Self.pairs {
      switch (leads(pair.0), leads(pair.1)) {
      case (true, true): report.fine(pair.0, "it and \(pair.1) lead to the relay")
      case (false, false): break
      case (let isGateway, _):
        let (right, wrong) = isGateway ? pair : (pair.1, pair.0)
        report.warning(
          "old-name-elsewhere", wrong,
          "\(addressText(places[wrong])), but \(right) leads to the relay at \(relay[0]): "
            + (isGateway ? "programs get no feedback about gone devices" : "nothing is pushed"),
          remedy)
      }
    }
  }

  private func addressText(_ addresses: [String]?) -> String {
    guard let addresses, !addresses.isEmpty else { return "it has no address here" }
    return "it leads to \(addresses.joined(separator: ", "))"
  }
}
