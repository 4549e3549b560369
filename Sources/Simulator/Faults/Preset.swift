import JSON

/// Named sets of faults.
package enum Preset: String, CaseIterable {
  case production

  /// Documentation/SIMULATOR-RULES.md has the sources.
  package var faults: [String] {
    [
      "streams_max=1000", "streams_after_rejection=1", "token_renewal_over=connection",
      "goaway_age_s=7200-86400", "gone_delay_s=3600-2592000",
    ]
  }

  package func rules() throws(JSONError) -> FaultRules {
    var rules = FaultRules()
    for option in faults { try rules.adopt(option: option) }
    return rules
  }
}
