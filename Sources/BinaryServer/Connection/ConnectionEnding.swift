/// How a connection is closed.
package enum ConnectionEnding: Sendable {
  /// TLS says goodbye, then TCP.
  case closeNotify
  /// TCP's FIN without close_notify.
  case fin
  case reset
}
