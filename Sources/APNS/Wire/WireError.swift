/// Why a run of bytes is not what it should be, and where it stopped being so.
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
  /// Counted in bytes from the frame's first.
  package var offset: Int
  /// The notification's, where it could be read before or in spite of the fault.
  package var identifier: UInt32?

  package init(_ reason: Reason, at offset: Int, identifier: UInt32? = nil) {
    self.reason = reason
    self.offset = offset
    self.identifier = identifier
  }

  /// The status of the error packet that answers it.
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
