import ArgumentParser

/// Named sets of faults.
enum Preset: String, CaseIterable, ExpressibleByArgument {
  case production

  static let help =
    "A set of faults, which --fault changes. production has what providers report of Apple's "
    + "service, " + reported.joined(separator: ", ") + ", and --environment production."

  /// Documentation/SIMULATOR-RULES.md has the sources.
  private static let reported = [
    "streams_max=1000", "streams_after_rejection=1", "token_renewal_over=connection",
    "goaway_age_s=7200-86400", "gone_delay_s=3600-2592000",
  ]

  var faults: [String] { Self.reported }
}
