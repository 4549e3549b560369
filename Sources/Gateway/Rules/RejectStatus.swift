/// Apple's words for the status of an error packet.
package enum RejectStatus {
  package static func text(_ status: UInt8) -> String {
    switch status {
    case 0: "no errors encountered"
    case 1: "processing error"
    case 2: "missing device token"
    case 3: "missing topic"
    case 4: "missing payload"
    case 5: "invalid token size"
    case 6: "invalid topic size"
    case 7: "invalid payload size"
    case 8: "invalid token"
    case 10: "shutdown"
    case 128: "protocol error"
    case 255: "none (unknown)"
    default: "unlisted status"
    }
  }
}
