import ArgumentParser

/// The seed of random numbers.
struct Seed: ExpressibleByArgument {
  var number: UInt64
  /// For the help and the manual, because the number differs each time.
  private(set) var defaultValueDescription: String

  init(_ number: UInt64, described: String? = nil) {
    self.number = number
    defaultValueDescription = described ?? "\(number)"
  }

  init?(argument: String) {
    guard let number = UInt64(argument) else { return nil }
    self.init(number)
  }

  /// Small enough to type.
  static var random: Seed {
    Seed(.random(in: 0...UInt64(UInt32.max)), described: "random, and printed")
  }
}
