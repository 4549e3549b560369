/// How a connection is closed.
package enum ConnectionEnding: Sendable {
  /// close_notify, then FIN.
  case closeNotify
  /// FIN without close_notify.
  case fin
  case reset
}
