/// This program under the name that its wheel has: it is the subcommand simulate only.
enum SimulatorProgram {
  static let isCalled = CommandLine.arguments.first?.split(separator: "/").last == "apns-simulator"

  /// How a user calls the simulator.
  static let name = isCalled ? "apns-simulator" : "apns simulate"

  static func arguments(typed: [String]) -> [String] {
    // The first try should show everything.
    if typed.isEmpty { return ["--dashboard-port", "8191", "--control-port", "8190"] }
    // Examples/testing passes the subcommand to either program.
    return typed.first == "simulate" ? Array(typed.dropFirst()) : typed
  }
}
