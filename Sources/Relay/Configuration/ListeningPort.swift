/// Where a server listens: on a port of its host, or on sockets that systemd opened.
package enum ListeningPort: Equatable, Sendable, ExpressibleByIntegerLiteral {
  /// 0 for a free port.
  case number(Int)
  /// The name of the sockets, FileDescriptorName= in their unit.
  case systemd(String)

  package init(integerLiteral number: Int) { self = .number(number) }

  package var socketName: String? { if case .systemd(let name) = self { name } else { nil } }
}

extension ConfigurationSection {
  fileprivate static let ofSystemd = "systemd:"

  /// A negative number is nil.
  func listeningPort(
    _ key: String, _ preset: ListeningPort?, _ range: ClosedRange<Int>
  ) throws -> ListeningPort? {
    guard let text = try text(key) else { return preset }
    guard text.hasPrefix(Self.ofSystemd) else {
      let number = try integer(key, 0, range)
      return number < 0 ? nil : .number(number)
    }
    let name = String(text.dropFirst(Self.ofSystemd.count))
    guard !name.isEmpty, !name.contains(":") else {
      throw fault(
        key, "must be systemd:NAME, with FileDescriptorName= of the socket unit, not '\(text)'")
    }
    return .systemd(name)
  }

  /// Throws if `host` is set, and no port uses it.
  func checkHost(of ports: [ListeningPort?]) throws {
    let used = ports.compactMap { $0 }
    if !used.isEmpty, used.allSatisfy({ $0.socketName != nil }), try text("host") != nil {
      throw fault("host", "cannot be combined with systemd: the socket unit has the address")
    }
  }
}

extension RelayOption {
  /// A port to listen on.
  static func listening(_ key: String, _ field: Field<ListeningPort>, _ meaning: String) -> Self {
    value(key, field, meaning, shown: { shown($0) }) {
      try $0.listeningPort($1, $2, 0...65535) ?? $2
    }
  }

  /// A port to listen on; -1 for none.
  static func listening(_ key: String, _ field: Field<ListeningPort?>, _ meaning: String) -> Self {
    value(key, field, meaning, shown: { shown($0) }) {
      try $0.listeningPort($1, $2, -1...65535)
    }
  }

  private static func shown(_ port: ListeningPort?) -> String {
    switch port {
    case .number(let number): "\(number)"
    case .systemd(let name): OptionText.quoted(ConfigurationSection.ofSystemd + name)
    case nil: "-1"
    }
  }
}
