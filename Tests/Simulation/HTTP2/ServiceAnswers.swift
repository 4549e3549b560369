import CNGHTTP2
import CSystem

/// How the service treats requests.
extension HTTP2Link {
  /// A request's head has come in full: checks that it is as sent and may come now.
  func begin(_ stream: Int32) {
    // If devices get more than one, the apns-id identifies it.
    let known = world.scenario.devices > 0 ? head.identifier?.number : head.device
    guard let number = known, number < world.ledger.taken,
      head.device == world.ledger.sent[number].device
    else {
      return world.violate("a request of nobody on \(self)")
    }
    check(head, number)
    world.checkBeginning(of: number, on: self)
    world.checkOrder(of: number, on: self)
    let index = world.ledger.asked.count
    world.ledger.asked.append(
      Asked(
        number: number, line: line, serial: serial, stream: stream, at: world.clock,
        generation: head.generation))
    let place = Int(stream) / 2
    while requests.count <= place { requests.append(-1) }
    requests[place] = index
    openRequests += 1
    world.ledger.sent[number].asked += 1
    world.ledger.sent[number].newest = index
    world.say("\(number) begins stream \(stream) on \(self)")
    if world.dice.happens(world.scenario.validatesEarly) {
      agenda.add(.validate(index), at: arrival)
    }
    faultPlanAfter -= 1
    if faultPlanAfter <= 0 {
      faultPlanAfter = .max
      agenda.add(.faultPlan, at: arrival)
    }
  }

  private func check(_ head: RequestHead, _ number: Int) {
    let sent = world.ledger.sent[number]
    // A broadcast has the fields that the service needs.
    let expiry: Int64? = sent.expiry == 0 && !sent.isBroadcast ? nil : max(0, sent.expiry)
    let priority = sent.isBroadcast && sent.priority == 0 ? 10 : sent.priority
    // A session's topic gets the suffix that the push type needs.
    let isCompleted =
      !sent.hasTopic && !sent.isBroadcast && !RequestHead.suffix(of: sent.type).isEmpty
    let topicType = isCompleted ? sent.type : 0
    if head.isBroadcast != sent.isBroadcast {
      world.violate("\(number) is written to \(head.isBroadcast ? "a channel" : "a device")")
    }
    if head.tokenLength != sent.tokenLength || !head.isTokenWhole || !head.isPost
      || !head.isSecure || !head.hasAuthority || head.stranger || head.expiry != expiry
      || head.hasTopic != sent.hasTopic || head.hasCollapse != sent.hasCollapse
      || head.priority != priority || head.type != sent.type || head.topicType != topicType
    {
      world.violate("\(number) is written with another head")
    }
    if showsToken != (head.generation != nil) {
      world.violate("\(number) is written \(head.generation == nil ? "without a" : "with a") token")
    }
    if let generation = head.generation, ModelToken.credentials(generation) != credentials {
      world.violate("\(number) is written with another's token on \(self)")
    }
    switch head.identifier {
    case nil:
      if sent.hasIdentifier { world.violate("\(number) is written without its identifier") }
    case (let own, isOwn: true)?:
      if own != number || !sent.hasIdentifier && sent.answered < 0 {
        world.violate("\(number) is written with another identifier")
      }
    case (let given, isOwn: false)?:
      if given >= world.ledger.asked.count || world.ledger.asked[given].number != number {
        world.violate("\(number) is written with another's identifier")
      }
    }
  }

  // MARK: Validating

  /// Checks a request that has arrived, or its head.
  func validate(_ index: Int) {
    let asked = world.ledger.asked[index]
    guard !asked.isValidated, !asked.isClosed, asked.stream <= lastStream else { return }
    let planned = world.ledger.sent[asked.number].planned
    switch planned {
    case .good where !asked.isComplete:
      guard !world.isHealed, world.dice.happens(world.scenario.acceptsEarly) else { return }
      world.ledger.asked[index].isEarly = true
    default: break
    }
    world.ledger.asked[index].isValidated = true
    highestValidated = max(highestValidated, asked.stream)
    switch planned {
    case .killer:
      world.say("\(self) is killed by \(asked.number)")
      end(world.dice.below(2) == 0 ? .goodbye : .broken)
    case .silent: world.met(.unanswered)
    case .bad(let number): reject(index, Reason(UInt32(number)))
    case .gone(let time):
      world.ledger.asked[index].timestamp = time
      reject(index, Reason(26))
    case .good where world.ledger.asked[index].isEarly:
      world.ledger.asked[index].status = 200
      answer(index)
    case .good: validateGood(index)
    }
  }

  private func validateGood(_ index: Int) {
    let scenario = world.scenario
    let asked = world.ledger.asked[index]
    if let generation = asked.generation {
      if !world.isHealed, world.dice.happens(scenario.staleTokens) {
        world.oldestToken = max(world.oldestToken, generation + 1)
      }
      if generation < world.oldestToken {
        world.met(.staleTokens)
        return reject(index, Reason(17))
      }
    }
    if world.isHealed { return accept(index) }
    if world.dice.happens(scenario.refusedStreams) {
      return agenda.add(.reset(index, code: NGHTTP2_REFUSED_STREAM.rawValue), at: answerTime)
    }
    if world.dice.happens(scenario.resetsBefore) {
      return agenda.add(.reset(index, code: drawCode()), at: answerTime)
    }
    if world.dice.happens(scenario.later) {
      // TooManyRequests, InternalServerError, ServiceUnavailable, Shutdown, IdleTimeout.
      return reject(index, Reason(world.dice.pick([29, 29, 30, 31, 32, 16, 255])))
    }
    if world.dice.happens(scenario.unanswered) {
      world.met(.unanswered)
      if world.dice.below(2) == 0 { process(index) }
      return
    }
    if world.dice.happens(scenario.resetsAfter) {
      process(index)
      return agenda.add(.reset(index, code: drawCode()), at: answerTime)
    }
    if world.dice.happens(scenario.resetsBehindStatus) {
      world.ledger.asked[index].resetBehind = drawCode()
    }
    accept(index)
  }

  private func drawCode() -> UInt32 {
    world.dice.pick([
      NGHTTP2_CANCEL.rawValue, NGHTTP2_INTERNAL_ERROR.rawValue, NGHTTP2_NO_ERROR.rawValue,
      NGHTTP2_ENHANCE_YOUR_CALM.rawValue, 0xFFFF_FFF0,
    ])
  }

  private var answerTime: Int64 { now + world.dice.time(upTo: world.scenario.answerDelayMax) }

  private func accept(_ index: Int) {
    process(index)
    world.ledger.asked[index].status = 200
    answer(index)
  }

  private func process(_ index: Int) {
    world.process(index)
  }

  private func reject(_ index: Int, _ reason: Reason) {
    world.ledger.asked[index].status =
      reason == .other ? world.dice.pick([400, 403, 500, 503, 599]) : UInt16(reason.status)
    world.ledger.asked[index].reason = reason.number
    if !world.isHealed, world.dice.happens(world.scenario.retryAfter) {
      world.ledger.asked[index].retryAfter = world.dice.pick([0, 1, 7, 40, 100_000])
    }
    answer(index)
  }

  private func answer(_ index: Int) {
    if !world.isHealed, world.dice.happens(world.scenario.interims) { sendInterim(index) }
    agenda.add(.answer(index), at: answerTime)
  }

  // MARK: Answering

  func sendAnswer(_ index: Int) {
    let asked = world.ledger.asked[index]
    guard !asked.isClosed else { return }
    world.say("stream \(asked.stream) of \(self) is answered by \(asked.status)")
    world.met(status: asked.status)
    let isInParts = world.dice.below(4) == 0
    withFields(index) { fields, count in
      if asked.status == 200, asked.resetBehind == nil, !isInParts {
        nghttp2_submit_response(codec, asked.stream, fields, count, nil)
      } else if asked.status != 200, !isInParts {
        var source = bodySource(index)
        nghttp2_submit_response(codec, asked.stream, fields, count, &source)
      } else {
        nghttp2_submit_headers(codec, 0, asked.stream, nil, fields, count, nil)
      }
    }
    if let code = asked.resetBehind {
      agenda.add(.reset(index, code: code), at: bodyTime)
    } else if isInParts {
      agenda.add(.body(index), at: bodyTime)
    } else if !asked.isComplete, !asked.isEarly, world.dice.below(2) == 0 {
      agenda.add(.reset(index, code: NGHTTP2_NO_ERROR.rawValue), at: bodyTime)
    }
  }

  private var bodyTime: Int64 { now + world.dice.time(upTo: world.scenario.bodyDelayMax) }

  func sendBody(_ index: Int) {
    let asked = world.ledger.asked[index]
    guard !asked.isClosed else { return }
    var source = bodySource(index)
    nghttp2_submit_data(codec, UInt8(NGHTTP2_FLAG_END_STREAM.rawValue), asked.stream, &source)
  }

  func sendReset(_ index: Int, _ code: UInt32) {
    let asked = world.ledger.asked[index]
    guard !asked.isClosed else { return }
    world.met(code == NGHTTP2_REFUSED_STREAM.rawValue ? .refusedStreams : .resets)
    world.say("stream \(asked.stream) of \(self) is reset with \(code)")
    nghttp2_submit_rst_stream(codec, 0, asked.stream, code)
  }

  private func sendInterim(_ index: Int) {
    let asked = world.ledger.asked[index]
    withField(":status", "103") { fields in
      _ = nghttp2_submit_headers(codec, 0, asked.stream, nil, fields, 1, nil)
    }
    // The final response has not come yet.
    world.ledger.asked[index].status = 0
    pump()
    world.ledger.asked[index].status = asked.status
  }

  private func withField(
    _ name: StaticString, _ value: StaticString, _ body: (UnsafeMutablePointer<nghttp2_nv>) -> Void
  ) {
    fields[0] = nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.utf8Start),
      value: UnsafeMutablePointer(mutating: value.utf8Start), namelen: name.utf8CodeUnitCount,
      valuelen: value.utf8CodeUnitCount, flags: 0)
    body(fields)
  }

  /// Builds the status and the apns-id.
  private func withFields(
    _ index: Int, _ body: (UnsafeMutablePointer<nghttp2_nv>, Int) -> Void
  ) {
    let asked = world.ledger.asked[index]
    let status: StaticString = ":status"
    let isBroadcast = world.ledger.sent[asked.number].isBroadcast
    let name: StaticString = isBroadcast ? "apns-request-id" : "apns-id"
    scratch[0] = 0x30 + UInt8(asked.status / 100)
    scratch[1] = 0x30 + UInt8(asked.status / 10 % 10)
    scratch[2] = 0x30 + UInt8(asked.status % 10)
    let isOwn = world.ledger.sent[asked.number].hasIdentifier
    HTTP2Identifier.write(isOwn ? asked.number : index, isOwn: isOwn, to: scratch + 8)
    fields[0] = nghttp2_nv(
      name: UnsafeMutablePointer(mutating: status.utf8Start), value: scratch,
      namelen: status.utf8CodeUnitCount, valuelen: 3, flags: 0)
    fields[1] = nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.utf8Start), value: scratch + 8,
      namelen: name.utf8CodeUnitCount, valuelen: HTTP2Identifier.count, flags: 0)
    guard let seconds = asked.retryAfter else { return body(fields, 2) }
    let field: StaticString = "retry-after"
    let digits = Array(String(seconds).utf8)
    for (place, digit) in digits.enumerated() { scratch[64 + place] = digit }
    fields[2] = nghttp2_nv(
      name: UnsafeMutablePointer(mutating: field.utf8Start), value: scratch + 64,
      namelen: field.utf8CodeUnitCount, valuelen: digits.count, flags: 0)
    body(fields, 3)
  }

  private func bodySource(_ index: Int) -> nghttp2_data_provider {
    var source = nghttp2_data_provider()
    source.source.ptr = UnsafeMutableRawPointer(bitPattern: index + 1)
    source.read_callback = bodyWanted
    return source
  }

  fileprivate func readBody(
    _ index: Int, into buffer: UnsafeMutablePointer<UInt8>, _ room: Int
  ) -> (Int, isLast: Bool) {
    let asked = world.ledger.asked[index]
    guard asked.status != 200 else { return (0, true) }
    var text = Message()
    text.append("{\"reason\":\"")
    if let reason = Reason(UInt32(asked.reason)).text {
      for byte in reason { text.append(ascii: byte) }
    } else {
      text.append("SomethingNew")
    }
    text.append("\"")
    if asked.timestamp > 0 {
      text.append(",\"timestamp\":")
      text.append(Int(asked.timestamp))
    }
    text.append("}")
    let count = min(room, text.count - asked.bodySent)
    for place in 0..<count { buffer[place] = text.bytes[asked.bodySent + place] }
    world.ledger.asked[index].bodySent += count
    return (count, asked.bodySent + count == text.count)
  }
}

private func bodyWanted(
  _ codec: OpaquePointer?, _ stream: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ room: Int,
  _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  let connection = Unmanaged<HTTP2Link>.fromOpaque(context!).takeUnretainedValue()
  let (count, isLast) = connection.readBody(
    Int(bitPattern: source!.pointee.ptr) - 1, into: buffer!, room)
  if isLast { flags!.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
  return count
}
