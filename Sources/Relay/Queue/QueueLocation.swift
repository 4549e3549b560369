/// Where a queue of an engine is, as relay.yaml has it below `queue`.
protocol QueueLocation: Equatable, Sendable {
  /// The engine's name, and the key that names one of its queues.
  static var engine: String { get }
  static var key: String { get }
  static var options: [RelayOption<Self>] { get }

  /// No queue.
  init()
  /// The queue that a command line names, a text for which `isOne` is true.
  init(_ text: String)
  static func isOne(_ text: String) -> Bool
  var isNamed: Bool { get }
  /// The name without its password.
  var name: String { get }
  func open(_ sync: QueueSync) throws -> any QueueEngine
  /// Opens it without changing anything.
  func openForReading() throws -> any QueueReading
  /// The directory for the relay's own files; nil for that of the configuration.
  var directory: String? { get }
  /// The reason why an app cannot have this name; nil if it can.
  func fault(ofApp name: String) -> String?
}

extension QueueLocation {
  var directory: String? { nil }
  func fault(ofApp name: String) -> String? { nil }
  func openForReading() throws -> any QueueReading { try open(.process) }
  fileprivate var ownOptions: [RelayOption<QueueLocations>] {
    Self.options.map { $0.of({ $0[Self.self] }, { $0[Self.self] = $1 }) }
  }
  fileprivate func isSame(_ other: any QueueLocation) -> Bool { other as? Self == self }
}

/// Changes of a queue survive a killed process, or a power failure too.
package enum QueueSync: String, CaseIterable, Sendable { case process, power }

/// A location for each engine, of which one is named.
struct QueueLocations: Equatable, Sendable {
  private(set) var all: [any QueueLocation]

  init(_ engines: [any QueueLocation.Type]) { all = engines.map { $0.init() } }

  static func == (one: Self, other: Self) -> Bool {
    one.all.count == other.all.count && zip(one.all, other.all).allSatisfy { $0.isSame($1) }
  }

  /// The first engine's if none is named.
  var named: any QueueLocation { all.first(where: \.isNamed) ?? all[0] }

  /// Names a queue. The first engine takes every text that no other engine takes.
  mutating func name(_ text: String) {
    let engines = all.map { type(of: $0) }
    self = Self(engines)
    let index = engines.lastIndex { $0.isOne(text) } ?? 0
    all[index] = engines[index].init(text)
  }

  subscript<Location: QueueLocation>(_ type: Location.Type) -> Location {
    get { all.lazy.compactMap { $0 as? Location }.first ?? Location() }
    set { for index in all.indices where all[index] is Location { all[index] = newValue } }
  }

  var options: [RelayOption<Self>] { all.flatMap { $0.ownOptions } }

  func check(_ section: ConfigurationSection) throws {
    let named = all.filter(\.isNamed).map { type(of: $0) }
    guard named.count > 1 else { return }
    throw section.fault(
      named[0].key, "is a \(named[0].engine) queue, but \(named[1].key) is set too: give one")
  }
}
