import NIOHPACK
import NIOHTTP2

/// Makes pushes from the requests of one connection, with an identifier if the client sent none.
struct PushRequests {
  private let services: HTTP2Services
  /// For the page, which shows headers.
  private let keepsHeaders: Bool
  private var identifiers: SplitMix64
  private var uniqueIdentifiers: SplitMix64

  init(_ services: HTTP2Services, _ faults: ConnectionFaults, keepsHeaders: Bool) {
    self.services = services
    self.keepsHeaders = keepsHeaders
    identifiers = faults.identifiers(.request)
    uniqueIdentifiers = faults.identifiers(.unique)
  }

  func received(_ headers: HPACKHeaders) -> ReceivedPush {
    var request = ReceivedPush(headers)
    if keepsHeaders { request.headers = headers }
    return request
  }

  mutating func push(_ request: ReceivedPush, on id: HTTP2StreamID) -> Push {
    let isPush = !services.managesChannels && request.broadcastApp == nil
    return Push(
      id: id, request: request,
      identifier: (isPush ? request.identifier : request.requestIdentifier)
        ?? PushIdentifier.make(&identifiers),
      isChannelRequest: services.managesChannels)
  }

  /// Adds the `apns-unique-id` of an accepted push.
  mutating func identify(_ push: inout Push) {
    guard services.isSandbox, !push.isChannelRequest else { return }
    push.uniqueIdentifier = PushIdentifier.make(&uniqueIdentifiers)
  }
}
