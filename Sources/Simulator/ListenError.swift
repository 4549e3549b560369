import BinaryServer

/// The reason why a service cannot listen.
package struct ListenError: Error, CustomStringConvertible {
  package enum Service: String, Sendable {
    case gateway, feedback, http2, channels, control, dashboard
  }

  private let failure: ListenFailure
  /// The option that caused it.
  package let option: String

  package init(_ error: any Error, _ service: Service, _ host: String, _ port: Int) {
    let setting = "--\(service.rawValue)-port"
    failure = ListenFailure(error, host, port, setting: setting)
    option =
      failure.isPort || service == .control
      ? setting : service == .dashboard ? "--dashboard-host" : "--host"
  }

  package var description: String { "\(option): \(failure)" }
}
