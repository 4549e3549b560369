import CNGHTTP2
import CSystem
import Glibc

/// The service's end of a connection: libnghttp2's server. It receives bytes as soon as
/// they are written and looks at each request when that has arrived, so nothing written
/// later can change what it has done by then.
extension HTTP2Link {
  /// The connection is open. The service's SETTINGS come at once or late.
  func beginService() {
    now = world.clock
    if !isSound, world.dice.happens(world.scenario.refusals) {
      isDeaf = true
      ending = .refusal
      endsAt = now + down
      return
    }
    var callbacks: OpaquePointer?
    var option: OpaquePointer?
    nghttp2_session_callbacks_new(&callbacks)
    nghttp2_option_new(&option)
    nghttp2_option_set_no_auto_window_update(option, 1)
    setResetLimit?(option, .max, .max)
    givesPong = isSound || !world.dice.happens(world.scenario.noPongs)
    if !givesPong { nghttp2_option_set_no_auto_ping_ack(option, 1) }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, requestBegins)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, headerComes)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, payloadComes)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameComes)
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, faultComes)
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frameGoes)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamCloses)
    let context = Unmanaged.passUnretained(self).toOpaque()
    nghttp2_session_server_new2(&codec, callbacks, context, option)
    nghttp2_session_callbacks_del(callbacks)
    nghttp2_option_del(option)
    submitSettings(
      streams: isSound ? 100 : world.scenario.streamsMax,
      window: isSound ? 65_535 : world.scenario.windowMin)
    let delay = isSound ? 0 : world.dice.time(upTo: world.scenario.settingsDelayMax)
    agenda.add(.begin, at: now + delay)
    if !isSound { drawFaultPlan() }
  }

  func submitSettings(streams: Int, window: Int) {
    var entries = InlineArray<2, nghttp2_settings_entry>(repeating: nghttp2_settings_entry())
    entries[0] = nghttp2_settings_entry(
      settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: UInt32(streams))
    entries[1] = nghttp2_settings_entry(
      settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(window))
    _ = withUnsafePointer(to: &entries) {
      $0.withMemoryRebound(to: nghttp2_settings_entry.self, capacity: 2) {
        nghttp2_submit_settings(codec, 0, $0, 2)
      }
    }
    allowedLeast = min(allowedLeast, streams)
    world.say("\(self) will allow \(streams) streams, windows of \(window)")
  }

  // MARK: Hearing

  /// Receives bytes that the session counts as written.
  func receive(_ bytes: UnsafeRawBufferPointer) {
    arrival = max(arrival, world.clock + world.dice.around(up))
    guard !isDeaf, let codec else { return }
    let taken = nghttp2_session_mem_recv(
      codec, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    if taken != bytes.count {
      world.violate("\(self) is written to what is not HTTP/2: \(taken)")
    }
    if nghttp2_session_want_write(codec) != 0 {
      agenda.add(.credit(stream: 0, count: 0), at: arrival)
    }
  }

  /// More of a request's payload has come.
  fileprivate func heardPayload(_ stream: Int32, _ bytes: UnsafeRawBufferPointer) {
    let delay = isSound ? 0 : world.dice.time(upTo: world.scenario.creditDelayMax)
    agenda.add(.credit(stream: stream, count: bytes.count), at: arrival + delay)
    guard let index = request(stream) else { return }
    let asked = world.ledger.asked[index]
    let sent = world.ledger.sent[asked.number]
    let whole = Token.payload(asked.number, sent.payloadLength)
    if asked.received + bytes.count > whole.count
      || memcmp(bytes.baseAddress!, whole.baseAddress! + asked.received, bytes.count) != 0
    {
      world.violate("\(asked.number) is written with another payload")
    }
    world.ledger.asked[index].received += bytes.count
  }

  /// If the connection's window has room, a small part of a payload never gets a separate frame,
  /// unless the service can send more only after this payload. If streams have smaller windows,
  /// those may have cut it.
  fileprivate func heardPart(_ count: Int, isLast: Bool) {
    guard !isLast, count < 1024, openRequests > 1, world.scenario.windowMin >= 65_535,
      world.scenario.settingsChanges == 0
    else { return }
    world.violate("\(self) gets only \(count) bytes of a payload in a DATA frame")
  }

  fileprivate func heardEnd(_ stream: Int32) {
    guard let index = request(stream) else { return }
    let asked = world.ledger.asked[index]
    if asked.received != world.ledger.sent[asked.number].payloadLength {
      world.violate("\(asked.number) ends behind \(asked.received) bytes of its payload")
    }
    world.ledger.asked[index].isComplete = true
    agenda.add(.validate(index), at: arrival)
  }

  /// The request of the stream; nil without one.
  func request(_ stream: Int32) -> Int? {
    let place = Int(stream) / 2
    guard stream & 1 == 1, place < requests.count, requests[place] >= 0 else { return nil }
    return requests[place]
  }

  /// A PING tests whether the service is there: next to streams, or before others are begun.
  fileprivate func heardPing(isBeside: Bool) {
    world.met(isBeside ? .probes : .pings)
    if openRequests > 0 { world.checkProbe(of: self, isBeside: isBeside) }
    if isBeside { probedAt = world.clock } else { pingedAt = world.clock }
  }

  /// The session abandoned that stream.
  fileprivate func heardReset(_ stream: Int32, _ code: UInt32) {
    givenUp += 1
    guard let index = request(stream), world.ledger.asked[index].seen == .open else { return }
    world.cancelled(index, code)
  }

  // MARK: Saying

  /// Sends everything that waits to be sent.
  func pump() {
    guard let codec, !isDeaf else { return }
    while true {
      var start: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(codec, &start)
      if count < 0 { world.violate("the service cannot speak: \(count)") }
      guard count > 0, let start else { return }
      deliver(start, count)
    }
  }

  /// Reports what a frame is before its bytes go out.
  fileprivate func saidFrame(_ frame: nghttp2_frame) {
    let type = UInt32(frame.hd.type)
    let ends = UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
    switch type {
    case NGHTTP2_HEADERS.rawValue:
      guard let index = request(frame.hd.stream_id), world.ledger.asked[index].status != 0 else {
        return
      }
      // The session may understand the frame as soon as it begins.
      mark(.status(index), at: bytes.count + 10)
      if ends { mark(.answered(index)) }
    case NGHTTP2_DATA.rawValue:
      if ends, let index = request(frame.hd.stream_id) { mark(.answered(index)) }
    case NGHTTP2_RST_STREAM.rawValue:
      let code = frame.rst_stream.error_code
      if let index = request(frame.hd.stream_id) {
        mark(.reset(index, code: code))
      }
    case NGHTTP2_GOAWAY.rawValue:
      goodbyes -= 1
      if goodbyes < 0 {
        let text = UnsafeRawBufferPointer(
          start: frame.goaway.opaque_data, count: frame.goaway.opaque_data_len)
        world.violate(
          "\(self) breaks HTTP/2's rules: \(frame.goaway.error_code) "
            + String(decoding: text, as: UTF8.self))
      }
      mark(.goodbye(last: frame.goaway.last_stream_id))
    case NGHTTP2_SETTINGS.rawValue:
      if UInt32(frame.hd.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 {
        mark(.settings)
      }
    case NGHTTP2_PING.rawValue:
      if UInt32(frame.hd.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 {
        if frame.ping.opaque_data.0 == 0 { mark(.pong) }
      }
    default: break
    }
  }
}

/// nghttp2 takes many cancelled streams for an attack and closes the connection. Versions
/// without this behaviour have no option for it.
private let setResetLimit = dlsym(nil, "nghttp2_option_set_stream_reset_rate_limit").map {
  unsafeBitCast($0, to: (@convention(c) (OpaquePointer?, UInt64, UInt64) -> Void).self)
}

// MARK: Functions for nghttp2

private func connection(_ context: UnsafeMutableRawPointer?) -> HTTP2Link {
  Unmanaged<HTTP2Link>.fromOpaque(context!).takeUnretainedValue()
}

private func requestBegins(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  connection(context).head = RequestHead()
  return 0
}

private func headerComes(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ name: UnsafePointer<UInt8>?, _ nameCount: Int, _ value: UnsafePointer<UInt8>?,
  _ valueCount: Int, _ flags: UInt8, _ context: UnsafeMutableRawPointer?
) -> CInt {
  connection(context).head.take(
    UnsafeRawBufferPointer(start: name, count: nameCount),
    UnsafeRawBufferPointer(start: value, count: valueCount))
  return 0
}

private func payloadComes(
  _ codec: OpaquePointer?, _ flags: UInt8, _ stream: Int32, _ bytes: UnsafePointer<UInt8>?,
  _ count: Int, _ context: UnsafeMutableRawPointer?
) -> CInt {
  connection(context).heardPayload(stream, UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}

private func frameComes(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  let connection = connection(context)
  let frame = frame!.pointee
  let ends = UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
  switch UInt32(frame.hd.type) {
  case NGHTTP2_HEADERS.rawValue:
    connection.begin(frame.hd.stream_id)
    if ends { connection.heardEnd(frame.hd.stream_id) }
  case NGHTTP2_DATA.rawValue:
    connection.heardPart(Int(frame.hd.length), isLast: ends)
    if ends { connection.heardEnd(frame.hd.stream_id) }
  case NGHTTP2_RST_STREAM.rawValue:
    connection.heardReset(frame.hd.stream_id, frame.rst_stream.error_code)
  case NGHTTP2_PING.rawValue:
    if UInt32(frame.hd.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 {
      connection.heardPing(isBeside: frame.ping.opaque_data.0 != 0)
    }
  default: break
  }
  return 0
}

private func faultComes(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ error: CInt,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  let connection = connection(context)
  // There are more streams than SETTINGS allow, and the session may not have seen those yet.
  // nghttp2 refuses them itself and does not report which they were.
  if error == NGHTTP2_ERR_REFUSED_STREAM.rawValue {
    connection.world.hiddenRefusals += 1
    connection.refusesHidden = true
    connection.world.met(.refusedStreams)
    return 0
  }
  connection.world.violate(
    "\(connection) breaks HTTP/2's rules: frame "
      + "\(frame!.pointee.hd.type), \(String(cString: nghttp2_strerror(error)))")
  return 0
}

private func frameGoes(
  _ codec: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  connection(context).saidFrame(frame!.pointee)
  return 0
}

private func streamCloses(
  _ codec: OpaquePointer?, _ stream: Int32, _ error: UInt32, _ context: UnsafeMutableRawPointer?
) -> CInt {
  let connection = connection(context)
  if let index = connection.request(stream) { connection.world.ledger.asked[index].isClosed = true }
  return 0
}
