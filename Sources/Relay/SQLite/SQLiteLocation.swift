import Foundation

/// A queue in a SQLite file.
struct SQLiteLocation: QueueLocation {
  static let engine = "SQLite"
  static let key = "file"
  static let options: [RelayOption<Self>] = [
    .value(
      "file", \.file, "SQLite file; its directory must exist", shown: { OptionText.quoted($0) }
    ) { try $0.path($1) ?? $2 }
  ]

  /// Empty for no queue.
  var file = ""

  init() {}
  init(_ text: String) { file = text }
  static func isOne(_ text: String) -> Bool { true }
  var isNamed: Bool { !file.isEmpty }
  var name: String { file }
  var directory: String? { isNamed ? (file as NSString).deletingLastPathComponent : nil }

  func open(_ sync: QueueSync) throws -> any QueueEngine { try SQLiteQueue(file, sync: sync) }
  func openForReading() throws -> any QueueReading { try SQLiteReader(file) }
}
