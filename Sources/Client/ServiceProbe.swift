import CAPNS
import Glibc

/// Tries a service with a separate connection.
package struct ServiceProbe {
  /// A token that no service knows.
  package static let noDevice = [UInt8](repeating: 0, count: 32)
  private static let silentPush = Array(#"{"aps":{"content-available":1}}"#.utf8)

  package var options: PushSession.Options

  package init(_ options: PushSession.Options) { self.options = options }

  private var timeoutMS: Int {
    options.peer.connectTimeoutMS == 0 ? 10_000 : Int(options.peer.connectTimeoutMS)
  }

  /// Connects and shakes hands. True if SETTINGS arrived, the first frame of an HTTP/2 server.
  package func connect(_ credentials: OpaquePointer) throws(LibraryError) -> Bool {
    var options = options
    let settings = SettingsFlag()
    if options.isHTTP2 {
      options.log = SessionLines(upTo: APNS_LOG_TRACE) { line in
        if line.text.contains("< SETTINGS"), !line.text.contains("ACK") {
          settings.hasArrived = true
        }
      }
    }
    let session = try PushSession(options, credentials: credentials, delivery: Delivery())
    try session.connect()
    var left = timeoutMS
    // The connection may end meanwhile: the caller notices, and gets the reason.
    while options.isHTTP2, !settings.hasArrived, left > 0, session.problem == nil {
      _ = try? session.next(within: 0)
      usleep(10_000)
      left -= 10
    }
    session.close(within: 0)
    return settings.hasArrived
  }

  private final class SettingsFlag { var hasArrived = false }

  /// The service's response to a silent push to a device, by default an impossible one; nil without
  /// a response.
  package func push(
    _ credentials: OpaquePointer, to token: [UInt8] = noDevice
  ) throws(LibraryError) -> SendOutcome? {
    var (options, delivery) = (options, Delivery())
    options.deliversAtMostOnce = true
    delivery.priority = 5
    let session = try PushSession(options, credentials: credentials, delivery: delivery)
    try session.send(SentNotification(number: 1, token: token, isAgain: false), Self.silentPush)
    try session.flush()
    _ = try session.drain(within: Int32(clamping: timeoutMS))
    return try session.next(within: 0)
  }
}

extension SendOutcome {
  /// The reason for an impossible device, which means that everything else was right.
  package var isBadToken: Bool {
    kind == .rejected && (lastReason == "BadDeviceToken" || lastReason.isEmpty && status == 8)
  }
}
