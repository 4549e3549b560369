import ArgumentParser
import Simulator

extension Preset: ExpressibleByArgument {
  static let help =
    "A set of faults, which --fault changes. production has what providers report of Apple's "
    + "service, " + Preset.production.faults.joined(separator: ", ")
    + ", and --environment production."
}
