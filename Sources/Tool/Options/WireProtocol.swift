import ArgumentParser
import CAPNS

enum WireProtocol: String, CaseIterable, ExpressibleByArgument {
  case http2
  case binary
}

enum PushKind: String, CaseIterable, ExpressibleByArgument {
  case alert, background, location, voip, complication, fileprovider, mdm, liveactivity
  case pushtotalk, widgets, controls

  var pushType: apns_push_type_t {
    apns_push_type_t(rawValue: UInt32(Self.allCases.firstIndex(of: self)! + 1))
  }
}
