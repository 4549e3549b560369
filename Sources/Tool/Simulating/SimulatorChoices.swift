import ArgumentParser
import BinaryServer
import Logging

extension TLSBound: ExpressibleByArgument {}
extension Logger.Level: @retroactive ExpressibleByArgument {}

enum TokenSize: String, CaseIterable, ExpressibleByArgument {
  case apple = "32-100"
  case bytes32 = "32"
  case any

  var range: ClosedRange<Int> {
    switch self {
    case .apple: 32...100
    case .bytes32: 32...32
    case .any: 1...100
    }
  }
}

/// The Apple service that HTTP/2 simulates.
enum SimulatedEnvironment: String, CaseIterable, ExpressibleByArgument {
  case sandbox
  case production
}

enum PayloadMax: Int, CaseIterable, ExpressibleByArgument {
  case bytes256 = 256
  case bytes2048 = 2048
}
