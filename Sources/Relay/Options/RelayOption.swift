/// A key of relay.yaml: how it is read, checked and printed, and its meaning. Its default is the
/// value of the structure that it belongs to.
struct RelayOption<Settings>: Sendable {
  typealias Field<Value> = WritableKeyPath<Settings, Value> & Sendable

  let key: String
  let read: @Sendable (ConfigurationSection, inout Settings) throws -> Void
  let write: @Sendable (Settings, inout OptionText) -> Void

  /// The general case: `read` gets the section, the key and the default.
  static func value<Value>(
    _ key: String, _ field: Field<Value>, _ meaning: String,
    shown: @escaping @Sendable (Value) -> String,
    read: @escaping @Sendable (ConfigurationSection, String, Value) throws -> Value
  ) -> Self {
    Self(
      key: key, read: { $1[keyPath: field] = try read($0, key, $1[keyPath: field]) },
      write: { $1.say(key, shown($0[keyPath: field]), meaning) })
  }

  static func text(_ key: String, _ field: Field<String>, _ meaning: String) -> Self {
    value(key, field, meaning, shown: { OptionText.quoted($0) }) { try $0.text($1) ?? $2 }
  }

  static func text(_ key: String, _ field: Field<String?>, _ meaning: String) -> Self {
    value(key, field, meaning, shown: OptionText.quoted) { section, key, _ in
      try section.text(key)
    }
  }

  static func path(_ key: String, _ field: Field<String?>, _ meaning: String) -> Self {
    value(key, field, meaning, shown: OptionText.quoted) { section, key, _ in
      try section.path(key)
    }
  }

  /// A file that must exist.
  static func file(_ key: String, _ field: Field<String?>, _ meaning: String) -> Self {
    value(key, field, meaning, shown: OptionText.quoted) { section, key, _ in
      try section.file(key)
    }
  }

  static func integer(
    _ key: String, _ field: Field<Int>, _ range: ClosedRange<Int>, _ meaning: String
  ) -> Self {
    value(key, field, meaning, shown: { "\($0)" }) { try $0.integer($1, $2, range) }
  }

  static func number(
    _ key: String, _ field: Field<Double>, _ range: ClosedRange<Double>, _ meaning: String
  ) -> Self {
    value(key, field, meaning, shown: DurationText.number) { try $0.number($1, $2, range) }
  }

  /// In seconds.
  static func duration(
    _ key: String, _ field: Field<Double>, _ range: ClosedRange<Double>, _ meaning: String
  ) -> Self {
    value(key, field, meaning, shown: DurationText.of) { try $0.duration($1, $2, range) }
  }

  static func flag(_ key: String, _ field: Field<Bool>, _ meaning: String) -> Self {
    value(key, field, meaning, shown: { "\($0)" }) { try $0.flag($1, $2) }
  }

  static func choice<Choice: RawRepresentable & CaseIterable>(
    _ key: String, _ field: Field<Choice>, _ meaning: String
  ) -> Self where Choice.RawValue == String {
    value(key, field, meaning, shown: { $0.rawValue }) { try $0.choice($1, $2) }
  }

  /// Keys below a key. `check` looks at several of them together, and may read what they name.
  static func section<Part>(
    _ key: String, _ field: Field<Part>,
    _ options: @escaping @Sendable (Part) -> [RelayOption<Part>],
    check: @escaping @Sendable (inout Part, ConfigurationSection) throws -> Void = { _, _ in }
  ) -> Self {
    Self(
      key: key,
      read: {
        guard let section = try $0.section(key) else { return }
        try section.read(options($1[keyPath: field]), into: &$1[keyPath: field])
        try check(&$1[keyPath: field], section)
        try section.end()
      },
      write: { settings, text in
        let part = settings[keyPath: field]
        text.below(key) { text in for option in options(part) { option.write(part, &text) } }
      })
  }

  static func section<Part>(
    _ key: String, _ field: Field<Part>, _ options: [RelayOption<Part>],
    check: @escaping @Sendable (inout Part, ConfigurationSection) throws -> Void = { _, _ in }
  ) -> Self { section(key, field, { _ in options }, check: check) }

  /// The same key as a part of other settings.
  func of<Whole>(
    _ part: @escaping @Sendable (Whole) -> Settings,
    _ set: @escaping @Sendable (inout Whole, Settings) -> Void
  ) -> RelayOption<Whole> {
    RelayOption<Whole>(
      key: key,
      read: { section, whole in
        var settings = part(whole)
        try read(section, &settings)
        set(&whole, settings)
      }, write: { write(part($0), &$1) })
  }

  /// Not printed for such settings.
  func printed(if isShown: @escaping @Sendable (Settings) -> Bool) -> Self {
    Self(key: key, read: read, write: { if isShown($0) { write($0, &$1) } })
  }
}

extension ConfigurationSection {
  func read<Settings>(_ options: [RelayOption<Settings>], into settings: inout Settings) throws {
    for option in options { try option.read(self, &settings) }
  }
}
