import CAPNS

/// Apple's text for the status of an error packet, from the library.
package enum RejectStatus {
  package static func text(_ status: UInt8) -> String {
    String(cString: apns_reject_text(apns_reject_t(UInt32(status))))
  }
}
