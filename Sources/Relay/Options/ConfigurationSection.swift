import Client
import Foundation
import Yams

/// The keys below one key of a configuration file. Each is read once; an unread key is an error.
final class ConfigurationSection {
  private let file: String
  private let path: String
  private let line: Int
  private var nodes: [String: Node] = [:]
  private var lines: [String: Int] = [:]
  private(set) var keys: [String] = []
  private var asked: [String] = []

  /// `key` is the line of the key that the section belongs to.
  init(_ node: Node, file: String, path: String, key: Int? = nil) throws {
    self.file = file
    self.path = path
    line = key ?? node.mark?.line ?? 1
    guard let mapping = node.mapping else {
      throw ConfigurationFault(
        file: file, line: line, key: path, message: "expected keys and values below it")
    }
    for (key, value) in mapping {
      guard let name = key.scalar?.string else {
        throw ConfigurationFault(
          file: file, line: key.mark?.line ?? line, key: path, message: "a key must be a word")
      }
      keys.append(name)
      nodes[name] = value
      lines[name] = key.mark?.line ?? line
    }
  }

  func fault(_ key: String, _ message: String) -> ConfigurationFault {
    ConfigurationFault(
      file: file, line: lines[key] ?? line, key: path.isEmpty ? key : "\(path).\(key)",
      message: message)
  }

  /// Checks a key that is a name. Quotes and backslashes would need escapes in metrics.
  func checkName(_ name: String, of what: String) throws {
    guard (1...64).contains(name.utf8.count),
      name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C })
    else { throw fault(name, "the name of \(what) has 1 to 64 letters, digits and signs") }
  }

  /// Resolves a path relative to the directory of the configuration file.
  func beside(_ name: String) -> String {
    if name.hasPrefix("/") { return name }
    let directory = (file as NSString).deletingLastPathComponent
    let base =
      directory.hasPrefix("/")
      ? directory : FileManager.default.currentDirectoryPath + "/" + directory
    return (base as NSString).appendingPathComponent(name)
  }

  private func ask(_ key: String) -> Node? {
    if !asked.contains(key) { asked.append(key) }
    return nodes[key]
  }

  func section(_ key: String) throws -> ConfigurationSection? {
    guard let node = ask(key) else { return nil }
    return try ConfigurationSection(
      node, file: file, path: path.isEmpty ? key : "\(path).\(key)", key: lines[key])
  }

  /// nil if the key is missing or empty.
  func text(_ key: String) throws -> String? {
    guard let node = ask(key) else { return nil }
    guard let scalar = node.scalar else { throw fault(key, "expected one value") }
    guard !scalar.string.utf8.contains(0) else { throw fault(key, "contains a NUL") }
    if scalar.string.contains(where: \.isNewline) || scalar.string.contains("-BEGIN"),
      let replacement = Redaction.replacement(scalar.string)
    {
      throw fault(key, "has text \(replacement): write that into a file, and give the file's name")
    }
    let isNull = scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
    return isNull || scalar.string.isEmpty ? nil : scalar.string
  }

  /// A path may begin with the directory of systemd's credentials, and with no other variable.
  func path(_ key: String) throws -> String? {
    guard let text = try text(key) else { return nil }
    guard text.hasPrefix("${") else { return beside(text) }
    let name = "CREDENTIALS_DIRECTORY"
    guard text.hasPrefix("${\(name)}/") else {
      throw fault(key, "only ${\(name)}/ is replaced at the start of a path")
    }
    guard let directory = ProcessInfo.processInfo.environment[name], directory.hasPrefix("/") else {
      throw fault(key, "${\(name)} is not set: systemd sets it for a service with LoadCredential=")
    }
    return directory + text.dropFirst(name.count + 3)
  }

  /// A list of words, or a single word. Empty if the key is missing.
  func words(_ key: String) throws -> [String] {
    guard let list = ask(key)?.sequence else { return try text(key).map { [$0] } ?? [] }
    return try list.map { node in
      guard let word = node.scalar?.string else { throw fault(key, "expected a list of words") }
      guard !word.utf8.contains(0) else { throw fault(key, "contains a NUL") }
      return word
    }
  }

  /// A program, which must exist, and its arguments. A name without a slash is searched in the
  /// PATH; otherwise it is relative to this file.
  func program(_ key: String) throws -> [String] {
    var words = try words(key)
    guard let name = words.first else { return [] }
    guard !name.isEmpty else { throw fault(key, "the first word, the program's name, is empty") }
    if !name.contains("/") {
      let places = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin")
        .split(separator: ":")
      guard places.contains(where: { Self.fault(of: "\($0)/\(name)") == nil }) else {
        throw fault(key, "\(name): not found in the PATH")
      }
      return words
    }
    words[0] = beside(name)
    if let reason = Self.fault(of: words[0]) { throw fault(key, "\(words[0]): \(reason)") }
    return words
  }

  /// The reason why it cannot run; nil if it can.
  private static func fault(of program: String) -> String? {
    var status = stat()
    guard stat(program, &status) == 0, access(program, X_OK) == 0 else {
      return String(cString: strerror(errno))
    }
    return status.st_mode & S_IFMT == S_IFREG ? nil : "not a regular file"
  }

  /// A file that must exist.
  func file(_ key: String) throws -> String? {
    guard let path = try path(key) else { return nil }
    guard access(path, R_OK) == 0 else {
      // The value may be the secret itself.
      let shown = key.hasSuffix("_file") ? "the file (name not shown)" : path
      throw fault(key, "\(shown): \(String(cString: strerror(errno)))")
    }
    return path
  }

  func integer(_ key: String, _ preset: Int, _ range: ClosedRange<Int>) throws -> Int {
    guard let text = try text(key) else { return preset }
    guard let value = Int(text), range.contains(value) else {
      throw fault(key, "must be \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return value
  }

  /// An optional number.
  func optional(_ key: String) throws -> Int64? {
    guard let text = try text(key) else { return nil }
    guard let value = Int64(text), value >= 0 else {
      throw fault(key, "must be a number from 0 on, not '\(text)'")
    }
    return value
  }

  func number(_ key: String, _ preset: Double, _ range: ClosedRange<Double>) throws -> Double {
    guard let text = try text(key) else { return preset }
    guard let value = Double(text), range.contains(value) else {
      let bounds = [range.lowerBound, range.upperBound].map { DurationText.number($0) }
      throw fault(key, "must be \(bounds[0]) to \(bounds[1]), not '\(text)'")
    }
    return value
  }

  /// A time in seconds, written with its unit.
  func duration(_ key: String, _ preset: Double, _ range: ClosedRange<Double>) throws -> Double {
    guard let text = try text(key) else { return preset }
    guard let value = DurationText.seconds(text), range.contains(value) else {
      let bounds = [range.lowerBound, range.upperBound].map { DurationText.of($0) }
      throw fault(key, "must be a time from \(bounds[0]) to \(bounds[1]), not '\(text)'")
    }
    return value
  }

  func flag(_ key: String, _ preset: Bool) throws -> Bool {
    guard let text = try text(key) else { return preset }
    switch text.lowercased() {
    case "true", "yes", "on": return true
    case "false", "no", "off": return false
    default: throw fault(key, "must be true or false, not '\(text)'")
    }
  }

  func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String, _ preset: Choice
  ) throws -> Choice where Choice.RawValue == String {
    guard let text = try text(key) else { return preset }
    guard let value = Choice(rawValue: text) else {
      let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw fault(key, "must be one of \(all), not '\(text)'")
    }
    return value
  }

  /// Keys before 0.2.0, and their current names.
  private static let renamed = [
    "answers": "responses", "deliveries": "max_deliveries", "doors": "listeners",
    "drain_s": "drain_timeout", "durable": "sync", "fleet_connections": "total_connections",
    "idle_s": "idle_timeout", "later": "retry", "lease_s": "lease", "least": "min_responses",
    "order": "keep_order", "outcomes_days": "outcome_retention",
    "program_s": "program_timeout", "remember_h": "remember", "replace": "collapse_by_id",
    "token": "provider_token", "token_answers": "token_errors",
    "token_cache": "provider_token_cache", "tries": "max_deferrals", "unknown": "delivery",
    "wait_s": "wait", "within_s": "within",
  ]

  /// Keys that have no successor, and why.
  private static let removed = [
    "poll": "is not needed: an idle relay waits for changes of the queue",
    "poll_ms": "is not needed: an idle relay waits for changes of the queue",
  ]

  /// Throws if a key was never read.
  func end() throws {
    guard let strange = keys.first(where: { !asked.contains($0) }) else { return }
    if let name = Self.renamed[strange], asked.contains(name) {
      let hasUnit = ["_ms", "_s", "_h", "_days"].contains { strange.hasSuffix($0) }
      throw fault(strange, "is now '\(name)'" + (hasUnit ? ", with a unit, such as 30s" : ""))
    }
    if let reason = Self.removed[strange] { throw fault(strange, reason) }
    throw fault(strange, "unknown key; expected one of \(asked.joined(separator: ", "))")
  }
}
