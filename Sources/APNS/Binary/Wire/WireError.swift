/// Why a run of bytes is wrong, and where the fault is.
package struct WireError: Error, Equatable {
  package enum Reason: UInt8 {
    case unknownCommand
    case frameTooLong
    case itemCut
    case unknownItem
    case duplicateItem
    case itemSize
    case priority
    case missingToken
    case missingPayload
    case tokenSize
    case payloadSize
  }

  package var reason: Reason
  /// The offset in bytes from the start of the frame.
  package var offset: Int
  /// The notification's identifier, if it could be read before or despite the fault.
  package var identifier: UInt32?

  package init(_ reason: Reason, at offset: Int, identifier: UInt32? = nil) {
    self.reason = reason
    self.offset = offset
    self.identifier = identifier
  }

  /// The status of the error packet that reports this fault.
  package var reject: UInt8 {
    switch reason {
    case .unknownCommand, .frameTooLong, .itemCut, .unknownItem, .duplicateItem, .itemSize: 128
    case .priority: 1
    case .missingToken: 2
    case .missingPayload: 4
    case .tokenSize: 5
    case .payloadSize: 7
    }
  }
}
