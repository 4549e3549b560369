import CAPNS
import CNGHTTP2

/// Log lines about frames.
extension UnsafeMutablePointer<SessionLog> {
  /// A frame came that ends the connection or a stream.
  func heard(_ frame: UnsafePointer<nghttp2_frame>, on connection: UInt32) {
    switch UInt32(frame.pointee.hd.type) {
    case NGHTTP2_GOAWAY.rawValue: goaway(frame.pointee.goaway, on: connection)
    case NGHTTP2_RST_STREAM.rawValue:
      let error = frame.pointee.rst_stream.error_code
      // A server that needs no more of a request resets it without an error.
      if error != NGHTTP2_NO_ERROR.rawValue {
        reset(frame.pointee.hd.stream_id, error, on: connection)
      }
    default: break
    }
  }

  /// The debug data is the server's own text, in which APNs gives its reason (Sending notification
  /// requests to APNs: GOAWAY).
  @inline(never)
  private func goaway(_ frame: nghttp2_goaway, on connection: UInt32) {
    let isFault = frame.error_code != NGHTTP2_NO_ERROR.rawValue
    guard
      begin(
        LogLine(APNS_LOG_KIND_GOAWAY, isFault ? APNS_LOG_WARNING : APNS_LOG_NOTICE, on: connection))
    else { return }
    pointee.words.append("the service sent GOAWAY: ")
    pointee.words.append(nghttp2_http2_strerror(frame.error_code))
    pointee.words.append(", last stream ")
    pointee.words.append(Int(frame.last_stream_id))
    if frame.opaque_data_len > 0, let data = frame.opaque_data {
      pointee.words.append(", ")
      pointee.words.append(
        text: UnsafeRawBufferPointer(start: data, count: Swift.min(frame.opaque_data_len, 128)))
    }
    put()
  }

  @inline(never)
  private func reset(_ stream: Int32, _ error: UInt32, on connection: UInt32) {
    guard begin(LogLine(APNS_LOG_KIND_RESET, APNS_LOG_WARNING, on: connection)) else { return }
    pointee.words.append("the service reset stream ")
    pointee.words.append(Int(stream))
    pointee.words.append(": ")
    pointee.words.append(nghttp2_http2_strerror(error))
    put()
  }

  /// `notification`: the frame's request, and its response's status.
  @inline(never)
  func trace(
    _ frame: UnsafePointer<nghttp2_frame>, isSent: Bool,
    _ notification: (request: StoredRequest, status: UInt16)?, on connection: UInt32
  ) {
    let head = frame.pointee.hd
    guard begin(LogLine(APNS_LOG_KIND_FRAME, APNS_LOG_TRACE, on: connection)) else { return }
    let direction: StaticString = isSent ? "> " : "< "
    pointee.words.append(direction)
    if let name = Self.name(head.type) {
      pointee.words.append(name)
    } else {
      pointee.words.append("frame of type ")
      pointee.words.append(UInt32(head.type))
    }
    if head.stream_id != 0 {
      pointee.words.append(", stream ")
      pointee.words.append(Int(head.stream_id))
    }
    switch UInt32(head.type) {
    case NGHTTP2_HEADERS.rawValue:
      if let notification {
        if isSent {
          pointee.words.append(", to ")
          let address = notification.request.token
          switch notification.request.purpose {
          case .device: pointee.words.append(token: address)
          case .channel:
            pointee.words.append("channel ")
            pointee.words.append(text: address)
          case .management(let operation):
            pointee.words.append(operation.words)
            pointee.words.append(" ")
            pointee.words.append(text: address)
          }
        } else {
          pointee.words.append(", status ")
          pointee.words.append(UInt32(notification.status))
        }
      }
    case NGHTTP2_DATA.rawValue, NGHTTP2_SETTINGS.rawValue:
      pointee.words.append(", ")
      pointee.words.append(head.length)
      pointee.words.append(" bytes")
    case NGHTTP2_RST_STREAM.rawValue:
      pointee.words.append(", ")
      pointee.words.append(nghttp2_http2_strerror(frame.pointee.rst_stream.error_code))
    case NGHTTP2_GOAWAY.rawValue:
      pointee.words.append(", ")
      pointee.words.append(nghttp2_http2_strerror(frame.pointee.goaway.error_code))
    case NGHTTP2_WINDOW_UPDATE.rawValue:
      pointee.words.append(", ")
      pointee.words.append(Int(frame.pointee.window_update.window_size_increment))
      pointee.words.append(" bytes more")
    default: break
    }
    switch UInt32(head.type) {
    case NGHTTP2_SETTINGS.rawValue, NGHTTP2_PING.rawValue:
      if UInt32(head.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 { pointee.words.append(", ACK") }
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      if UInt32(head.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 {
        pointee.words.append(", END_STREAM")
      }
    default: break
    }
    put()
  }

  private static func name(_ type: UInt8) -> StaticString? {
    switch UInt32(type) {
    case NGHTTP2_DATA.rawValue: "DATA"
    case NGHTTP2_HEADERS.rawValue: "HEADERS"
    case NGHTTP2_RST_STREAM.rawValue: "RST_STREAM"
    case NGHTTP2_SETTINGS.rawValue: "SETTINGS"
    case NGHTTP2_PING.rawValue: "PING"
    case NGHTTP2_GOAWAY.rawValue: "GOAWAY"
    case NGHTTP2_WINDOW_UPDATE.rawValue: "WINDOW_UPDATE"
    default: nil
    }
  }
}
