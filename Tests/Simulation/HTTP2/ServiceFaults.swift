import CNGHTTP2

/// Something that a service does unasked, at a time or after a number of requests.
enum HTTP2FaultPlan {
  case serve
  case end
  /// GOAWAY in two steps: the first still lets every stream finish.
  case leaveGently
  /// GOAWAY in one step.
  case leave
  case leaveAtOnce
  /// It breaks HTTP/2's rules.
  case breach
  /// From then on it takes everything and sends nothing.
  case vanish
}

extension HTTP2Link {
  // MARK: Deeds

  /// Does what is due by that time.
  func act(until time: Int64) {
    while agenda.next <= time {
      now = max(now, agenda.next)
      guard let deed = agenda.take() else { return }
      act(deed)
      if world.violation != nil { return }
    }
  }

  private func act(_ deed: Deed) {
    guard !isDeaf else { return }
    switch deed {
    case .begin: hasBegun = true
    case .validate(let index): validate(index)
    case .answer(let index): sendAnswer(index)
    case .body(let index): sendBody(index)
    case .reset(let index, let code): sendReset(index, code)
    case .credit(let stream, let count): giveBack(stream, count)
    case .settings: changeSettings()
    case .faultPlan: followFaultPlan()
    case .lastGoodbye: sayLastGoodbye(error: 0)
    case .end(let ending): end(ending)
    }
    if hasBegun { pump() }
  }

  private func giveBack(_ stream: Int32, _ count: Int) {
    guard count > 0 else { return }
    nghttp2_submit_window_update(codec, 0, 0, Int32(count))
    if let index = request(stream), !world.ledger.asked[index].isComplete {
      nghttp2_submit_window_update(codec, 0, stream, Int32(count))
    }
  }

  private func changeSettings() {
    world.met(.settings)
    submitSettings(
      streams: world.dice.pick([1, 1, 2, 10, 100, 1000]),
      window: world.dice.pick([65_535, 1_000_000, 5000, world.scenario.windowMin]))
    settingsLeft -= 1
    scheduleSettings()
  }

  private func scheduleSettings() {
    guard settingsLeft > 0 else { return }
    agenda.add(.settings, at: now + world.dice.time(upTo: 5_000_000_000))
  }

  // MARK: Fault plan

  func drawFaultPlan() {
    let scenario = world.scenario
    settingsLeft = scenario.settingsChanges
    scheduleSettings()
    if world.dice.happens(scenario.ends) {
      faultPlan = .end
    } else if world.dice.happens(scenario.goodbyes) {
      faultPlan = world.dice.pick([.leaveGently, .leave, .leaveAtOnce])
    } else if world.dice.happens(scenario.breaches) {
      faultPlan = .breach
    } else if world.dice.happens(scenario.blackHoles) {
      faultPlan = .vanish
    } else {
      return
    }
    if world.dice.below(3) == 0 {
      agenda.add(.faultPlan, at: now + world.dice.time(upTo: 30_000_000_000))
    } else {
      faultPlanAfter = 1 + world.dice.below(world.dice.pick([3, 20, 200]))
    }
  }

  private func followFaultPlan() {
    let faultPlan = faultPlan
    self.faultPlan = .serve
    world.say("the service of \(self) will \(faultPlan)")
    switch faultPlan {
    case .serve: return
    case .end: end(world.dice.below(2) == 0 ? .goodbye : .broken)
    case .leaveGently:
      world.met(.gentleGoodbyes)
      goodbyes += 1
      nghttp2_submit_shutdown_notice(codec)
      agenda.add(.lastGoodbye, at: now + world.dice.time(upTo: 1_000_000_000))
    case .leave:
      world.met(.goodbyes)
      sayLastGoodbye(error: world.dice.pick([0, 0, NGHTTP2_ENHANCE_YOUR_CALM.rawValue]))
    case .leaveAtOnce:
      world.met(.goodbyesAtOnce)
      sayLastGoodbye(error: world.dice.pick([0, NGHTTP2_INTERNAL_ERROR.rawValue]))
      if hasBegun { pump() }
      end(world.dice.below(2) == 0 ? .goodbye : .broken)
    case .breach: breach()
    case .vanish:
      world.met(.blackHoles)
      isDeaf = true
      deafSince = now
      endsAt = max(now + world.dice.time(upTo: 120_000_000_000) + down, lastArrival)
      ending = .broken
    }
  }

  /// Reports which streams it processes, and which it never will.
  private func sayLastGoodbye(error: UInt32) {
    let unvalidated = max(0, requests.count - (Int(highestValidated) + 1) / 2)
    lastStream = highestValidated + 2 * Int32(world.dice.below(unvalidated + 1))
    if lastStream & 1 == 0, lastStream > 0 { lastStream -= 1 }
    lastStream = max(lastStream, highestValidated)
    if hidesSince == 0 { hidesSince = now }
    goodbyes += 1
    let text: StaticString = "{\"reason\":\"Shutdown\"}"
    nghttp2_submit_goaway(codec, 0, lastStream, error, text.utf8Start, text.utf8CodeUnitCount)
    world.say("\(self) looks at no stream above \(lastStream)")
    if world.dice.below(2) == 0 {
      let ending: Ending = world.dice.below(2) == 0 ? .goodbye : .broken
      agenda.add(.end(ending), at: now + world.dice.time(upTo: 60_000_000_000))
    }
  }

  /// Ends the connection without GOAWAY.
  func end(_ ending: Ending) {
    isDeaf = true
    deafSince = min(deafSince, now)
    // Its last bytes may take so long that the session abandons requests meanwhile.
    if hidesSince == 0 { hidesSince = now }
    self.ending = ending
    losesUnread = ending == .broken && world.dice.below(2) == 0
    endsAt = losesUnread ? now + down : max(now + down, lastArrival)
    world.met(ending == .goodbye ? .silentGoodbyes : .silentResets)
    agenda.clear()
  }

  /// Sends something that no service may send, and nothing after it.
  private func breach() {
    world.met(.breaches)
    let frames: [[UInt8]] = [
      // DATA, and a WINDOW_UPDATE of 0, on stream 0.
      [0, 0, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      // A stream of the service's own without a promise.
      [0, 0, 1, 1, 4, 0, 0, 0, 2, 0x88],
      // SETTINGS with a wrong length, and one with a value that is not allowed.
      [0, 0, 5, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1],
      // CONTINUATION without a beginning, the end of a stream that never existed, a frame
      // that is too large.
      [0, 0, 1, 9, 4, 0, 0, 0, 1, 0x88], [0, 0, 4, 3, 0, 0x7F, 0xFF, 0xFF, 0xFD, 0, 0, 0, 0],
      [0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1],
      // Header fields that are in no table, on the first stream.
      [0, 0, 4, 1, 5, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0x7F], Array("HTTP/1.1 400 Bad\r\n\r\n".utf8),
    ]
    let frame = world.dice.pick(frames)
    breachAt = bytes.count
    frame.withUnsafeBufferPointer { deliver($0.baseAddress!, $0.count) }
    isDeaf = true
    if world.dice.below(2) == 0 {
      endsAt = lastArrival + world.dice.time(upTo: 60_000_000_000)
      ending = world.dice.below(2) == 0 ? .goodbye : .broken
    }
  }
}
