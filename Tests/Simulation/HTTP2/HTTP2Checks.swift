import CAPNS
import CNGHTTP2

/// Checks whether what the session does and reports is what happened.
extension HTTP2World {
  // MARK: Read by the session

  /// Records what the session knows from the bytes that it has read.
  func noteMarks(_ connection: HTTP2Link) {
    let (wasHeld, before) = (isHeld(connection), connection.openRequests)
    while connection.nextMark < connection.marks.count,
      connection.marks[connection.nextMark].place <= connection.bytesRead
    {
      note(connection.marks[connection.nextMark].mark, connection)
      connection.nextMark += 1
    }
    if connection.bytesRead > connection.breachAt { connection.hasReadBreach = true }
    guard connection.openRequests < before else { return }
    connection.lastEnd = clock
    if wasHeld { connection.heldIn = call.started }
  }

  private func note(_ mark: Mark, _ connection: HTTP2Link) {
    switch mark {
    case .status(let index):
      guard ledger.asked[index].seen == .open else { return }
      ledger.asked[index].isStatusRead = true
      if !ledger.asked[index].isComplete { isAnsweredEarly = true }
    case .answered(let index):
      guard ledger.asked[index].seen == .open else { return }
      if ledger.asked[index].isEarly {
        // Not all of it was written, so it cannot be true.
        guard ledger.asked[index].isComplete else {
          // The rest may have been written to a service that no longer listens.
          if connection.isDeaf { isUndecided = true }
          return see(index, .half)
        }
        process(index)
      }
      ledger.asked[index].isEndRead = true
      ledger.answersRead += 1
      ledger.asked[index].turn = ledger.answersRead
      ledger.sent[ledger.asked[index].number].answered = index
      connection.hasReadAnswer = true
      // A draining connection stays so.
      if !connection.leadsNowhere { connection.givenUp = 0 }
      if ledger.asked[index].status == 200 { cameToSomething() }
      if asksForAnother(ledger.asked[index].reason) { connection.isToBeLeft = true }
      // The session may have abandoned it without our knowledge: nghttp2 reads nothing once it has
      // sent GOAWAY and all streams are done.
      if connection.isDeaf || connection.everRefused || connection.lastStream != .max,
        clock - ledger.asked[index].at >= answerTimeout - faults.lapseMax
      {
        see(index, .half, isSure: false)
      }
      if ledger.asked[index].seen == .open, putsOff(ledger.asked[index]) {
        ledger.sent[ledger.asked[index].number].putOff += 1
      }
      see(index, .answered)
    case .reset(let index, let code):
      if ledger.asked[index].isStatusRead {
        // Half a response does not count.
        see(index, .half)
      } else {
        // The session may have abandoned it before, in a TLS record that was not taken yet.
        if connection.everRefused,
          clock - ledger.asked[index].at >= answerTimeout - faults.lapseMax
        {
          ledger.sent[ledger.asked[index].number].unsureDoubts += 1
        }
        see(index, code == NGHTTP2_REFUSED_STREAM.rawValue ? .refused : .doubt)
      }
    case .goodbye(let last):
      connection.hasReadGoodbye = true
      goodbyes += 1
      for index in connection.requests where index >= 0 {
        if ledger.asked[index].stream > last, !ledger.asked[index].isStatusRead {
          see(index, .refused)
        }
      }
    case .settings: connection.hasReadSettings = true
    case .pong: connection.pingedAt = 0
    }
  }

  /// A request's stream is over for the session.
  func see(_ index: Int, _ end: Seen, isSure: Bool = true, ofConnection: Bool = false) {
    guard ledger.asked[index].seen == .open else { return }
    ledger.asked[index].seen = end
    say("stream \(ledger.asked[index].stream) of \(ledger.asked[index].number) is over: \(end)")
    lines[ledger.asked[index].line].openRequests -= 1
    let sent = ledger.sent + ledger.asked[index].number
    (sent.pointee.lastEnd, sent.pointee.freeSince) = (end, clock)
    if end.isDoubtful {
      if isSure { sent.pointee.doubts += 1 } else { sent.pointee.unsureDoubts += 1 }
    }
    if end.isDoubtful, ofConnection {
      sent.pointee.mostEnds += 1
      // It may have been abandoned before the connection ended.
      if !mayBeGivenUp(index) {
        sent.pointee.ends += 1
        isAnyDoubtful = true
      }
    }
    if end == .refused { sent.pointee.refusals += 1 }
  }

  /// Whether the session may have abandoned the stream. Its TLS record may have been offered before
  /// the service saw it, and the process may have been suspended between looking at the clock and
  /// beginning the stream.
  private func mayBeGivenUp(_ index: Int) -> Bool {
    let asked = ledger.asked[index]
    return clock - asked.at >= answerTimeout - faults.lapseMax || lines[asked.line].everRefused
      || isDue(asked.number)
  }

  /// The session abandoned a stream, which it may do if the response takes too long.
  func cancelled(_ index: Int, _ code: UInt32) {
    met(.cancels)
    if !mayBeGivenUp(index) {
      violate(
        "\(ledger.asked[index].number) is abandoned with \(code) after "
          + "\((clock - ledger.asked[index].at) / 1000) us")
    }
    let connection = lines[ledger.asked[index].line]
    let isUnread = connection.marks.contains {
      guard case .answered(index) = $0.mark else { return false }
      return connection.hasUnread(upTo: $0.place, since: call.woken)
    }
    if isUnread, !connection.everRefused {
      violate("\(ledger.asked[index].number) is abandoned after its response arrived")
    }
    see(index, ledger.asked[index].isStatusRead ? .half : .doubt)
  }

  // MARK: Requests

  /// Checks that another request for the notification may come now and on this connection.
  func checkBeginning(of number: Int, on connection: HTTP2Link) {
    let sent = ledger.sent[number]
    // A TLS record that waited for a while may be out of date by now.
    let isLate = connection.everRefused
    // A record that was filled before may be written now, and then the outcome is unknown.
    if sent.due?.upperBound ?? .max < call.started, !isLate {
      ledger.sent[number].isBegunLate = true
    }
    if sent.isCancelled, !isLate { violate("\(number) is sent after it was cancelled") }
    if sent.told != .none, !isLate { violate("\(number) is sent after its event") }
    if sent.newest >= 0 {
      met(.resends)
      let last = ledger.asked[sent.newest]
      if last.seen == .open, !isLate {
        // The cancellation may still be on its way.
        guard mayBeGivenUp(sent.newest) else {
          return violate("\(number) is sent again while it waits for an answer")
        }
        see(sent.newest, .doubt)
      }
      let isToBeReported =
        ledger.sent[number].lastEnd.isDoubtful && !(last.isEndRead && asksAgain(last))
      if isToBeReported, !scenario.resends, !isLate {
        violate("\(number) is resent, against the option ambiguous")
      }
      if ledger.sent[number].doubts >= Self.mostDeliveries, !isLate {
        violate("\(number) is sent again after \(ledger.sent[number].doubts) sendings in doubt")
      }
      if last.seen == .answered, !isLate, !asksAgain(last) {
        violate("\(number) is sent again after the answer \(last.status)")
      }
      if last.seen == .answered, last.isEndRead { checkPause(of: number, last) }
    }
    if !connection.hasReadSettings, connection.openRequests > 0 {
      violate("a second stream on \(connection) before its settings")
    }
    if connection.credentials != credentials, !isLate {
      violate("a stream on \(connection), whose credentials were replaced")
    }
    if connection.showsToken, !connection.hasReadAnswer { checkTrial(on: connection) }
    if connection.pingedAt > 0 {
      violate("a stream on \(connection) before its PING is acknowledged")
    }
    if connection.hasReadGoodbye, !isLate {
      violate("a stream on \(connection) after GOAWAY")
    }
    if isAnyDoubtful, !isLate { checkCompany(of: number, on: connection) }
  }

  /// Before the token's first answer one stream may be open; and eight times as many each time that
  /// the first has had its time.
  private func checkTrial(on connection: HTTP2Link) {
    guard connection.openRequests > 0, !connection.everRefused,
      let first = connection.requests.first(where: { $0 >= 0 })
    else { return }
    let times = Int((clock - ledger.asked[first].at + faults.lapseMax) / 25_000_000)
    if connection.openRequests >= 1 << (3 * min(times, 4)) {
      violate(
        "stream \(connection.openRequests + 1) on \(connection) before the token's first answer")
    }
  }

  /// A PING next to streams is for a service that has sent nothing for long.
  func checkProbe(of connection: HTTP2Link, isBeside: Bool) {
    let silence = clock - connection.lastRead + faults.lapseMax
    // Notifications that reached their deadline were abandoned sooner.
    let isAnyDue =
      connection.dueUnseen > 0
      || connection.requests.contains { $0 >= 0 && isDue(ledger.asked[$0].number) }
    if silence < answerTimeout / (isBeside ? 2 : 4), !connection.everRefused, isBeside || !isAnyDue
    {
      violate("\(connection) sends PING with responses pending, after \(silence / 1000) us")
    }
  }

  /// A deferred notification is retried no sooner than the schedule and the service say.
  private func checkPause(of number: Int, _ last: Asked) {
    guard putsOff(last) else { return }
    if given.tuning.retry_timeout_ms < 0 {
      violate("\(number) is sent again after \(last.status), without retries")
    }
    let sent = ledger.sent[number]
    let pause = max(
      scenario.schedules.shortest(after: sent.putOff - 1, isServerError: isServerError(last)),
      min(last.retryAfter ?? 0, 86_400))
    if clock - sent.freeSince < Int64(pause) * 1_000_000_000 {
      violate(
        "\(number) is sent again \((clock - sent.freeSince) / 1000) us after \(last.status), not \(pause) s"
      )
    }
  }

  /// If the session keeps the order of each device, its notifications go out one after the other.
  func checkOrder(of number: Int, on connection: HTTP2Link) {
    // A TLS record that waited for a while may be out of date by now.
    guard scenario.devices > 0, !connection.everRefused else { return }
    let device = ledger.sent[number].device
    let last = ledger.lastOfDevice[device] ?? number
    if last > number { violate("\(number) is sent behind \(last), to the same device") }
    ledger.lastOfDevice[device] = number
    if last == number { return }
    let before = ledger.sent[last]
    guard before.newest >= 0, ledger.asked[before.newest].seen == .open else { return }
    // The cancellation may still be on its way.
    if !mayBeGivenUp(before.newest) {
      violate("\(number) is sent while \(last), to the same device, waits for an answer")
    }
  }

  /// Whether the response asks for a retry after a pause.
  private func putsOff(_ asked: Asked) -> Bool {
    switch Reason(UInt32(asked.reason)).remedy(httpStatus: Int(asked.status)) {
    case .wait, .reconnect, .reconnectOnce: true
    case .renewToken, .reject, .unregistered: false
    }
  }

  private func isServerError(_ asked: Asked) -> Bool {
    Reason(UInt32(asked.reason)).remedy(httpStatus: Int(asked.status)) == .wait
      && asked.status >= 500
  }

  /// The more often a notification was in doubt, the fewer may be in flight with it, so that the
  /// session finds the poison notification before it has resent the others too often.
  private func checkCompany(of number: Int, on connection: HTTP2Link) {
    var (maximum, least) = (ledger.sent[number].ends, mostEnds(of: number))
    for index in connection.requests where index >= 0 && ledger.asked[index].seen == .open {
      // This notification will be in doubt only if this connection ends without a response.
      maximum = max(maximum, ledger.sent[ledger.asked[index].number].ends)
      least = min(least, mostEnds(of: ledger.asked[index].number))
    }
    let allowed = [Int.max, 256, 32, 4, 1][min(maximum, 4)]
    if connection.openRequests + 1 > allowed {
      violate(
        "\(number) flies with \(connection.openRequests) others, and \(maximum) connections ended with one"
      )
    }
    if maximum > 1, least < 2 {
      violate(
        "\(number) does not fly apart: \(maximum) connections ended with one on \(connection)")
    }
  }

  /// At how many ends it may have been in flight: the service has not seen all that was written.
  func mostEnds(of number: Int) -> Int {
    let sent = ledger.sent[number]
    return sent.mostEnds + unseenDrops - sent.unseenDropsBefore
  }

  /// How often a notification may be sent while its outcome is in doubt.
  static var mostDeliveries: Int { 5 }

  /// Reasons that mean that this connection can no longer be used: IdleTimeout,
  /// UnrelatedKeyIdInToken, Shutdown. Trouble in the service itself is not one.
  private func asksForAnother(_ reason: UInt8) -> Bool { [16, 18, 32].contains(reason) }

  /// Whether the response allows a resend of the notification.
  private func asksAgain(_ asked: Asked) -> Bool {
    switch Reason(UInt32(asked.reason)).remedy(httpStatus: Int(asked.status)) {
    case .wait, .reconnect, .reconnectOnce: true
    case .renewToken: asked.generation != nil || credentials > 0
    case .reject, .unregistered: false
    }
  }

  /// The service accepts the notification for good.
  func process(_ index: Int) {
    let number = ledger.asked[index].number
    let sent = ledger.sent + number
    met(.processed)
    if sent.pointee.told == .cancelled { violate("\(number) is processed, and was cancelled") }
    if sent.pointee.told == .expired { violate("\(number) is processed, and had expired") }
    if sent.pointee.processor >= 0 {
      met(.duplicates)
      let first = ledger.asked[sent.pointee.processor]
      if !scenario.resends {
        violate("\(number) is processed twice, which it never was to be")
      } else if !first.seen.isDoubtful, !lines[ledger.asked[index].line].everRefused {
        violate("\(number) is processed twice, though its first stream is \(first.seen)")
      }
    }
    sent.pointee.processor = index
  }

  // MARK: Connections

  func settle(_ line: Int) {
    let connection = lines[line]
    bringUp(connection.line)
    if connection.isUnread {
      violate("\(connection) is dropped after a failed write, and nobody read on")
    }
    if !connection.isDone, !connection.isBroken, !connection.hasSaidGoodbye || !isClosing {
      checkGivingUp(connection)
    }
    if connection.isRefused {
      met(.refusals)
      turnedDownAt = clock
    }
    let mayHide =
      connection.mayHide || connection.lastStream != .max || connection.isDeaf
      || connection.refusesHidden
    let owes = connection.requests.contains {
      $0 >= 0 && ledger.asked[$0].seen == .open
    }
    if mayHide || owes, !connection.isRefused {
      met(.ambiguousEnds)
      doubtfulEnds += 1
    }
    // A connection that refused the provider has looked at no request.
    if mayHide, !connection.isRefused {
      unseenDrop = clock
      unseenDrops += 1
      // Until GOAWAY says which streams count, the session abandons each stream without a response
      // in time. It resends the notification, and the service may not see that either.
      if connection.hidesSince > 0 {
        unseenDrops += Int((clock - connection.hidesSince) / max(answerTimeout, 1))
      }
    }
    for index in connection.requests where index >= 0 {
      see(
        index,
        ledger.asked[index].isStatusRead ? .half : connection.isRefused ? .refused : .doubt,
        ofConnection: true)
    }
  }

  /// Unless it sees the end, the session drops a connection only for a reason.
  private func checkGivingUp(_ connection: HTTP2Link) {
    if connection.hasReadBreach { return met(.breachesHeard) }
    let since = connection.refusedSince
    if since > 0, clock - since >= writeTimeout { return met(.writeTimeouts) }
    let silence = clock - connection.lastRead
    // The process may have been suspended before it wrote the PING, and the session
    // counts from when it meant to write it.
    let unanswered = connectTimeout - faults.lapseMax - 1_000_000
    if connection.pingedAt > 0, clock - connection.pingedAt >= unanswered {
      return met(.pingTimeouts)
    }
    // A service that is gone has not seen the PING.
    if connection.deafSince < clock, clock - connection.deafSince >= unanswered {
      return met(.pingTimeouts)
    }
    // A request that waited longer may have been abandoned, and the service does not know yet. A
    // TLS record that waited for a while is older than we know.
    let owes = connection.requests.contains {
      $0 >= 0 && ledger.asked[$0].seen == .open && clock - ledger.asked[$0].at < answerTimeout
        && !connection.everRefused && !isDue(ledger.asked[$0].number)
    }
    if !owes {
      if connection.hasReadGoodbye || connection.isToBeLeft
        || connection.credentials != credentials
      {
        return met(.lefts)
      }
      // A suspected poison notification no longer has its own connection.
      if isAnyApart, connection.openRequests == 0,
        lines.count(where: { $0.phase != .closed }) > Int(given.session.connections)
      {
        return met(.lefts)
      }
      // The session abandoned streams at their deadlines, and the service does not know.
      if connection.requests.contains(where: {
        $0 >= 0 && ledger.asked[$0].seen == .open && isDue(ledger.asked[$0].number)
      }) {
        return met(.lefts)
      }
      // It leads nowhere.
      if connection.leadsNowhere { return met(.lefts) }
      // Others had a connection next to one whose only stream had no response.
      if isAnyHeld, connection.openRequests == 0,
        lines.count(where: { $0.phase != .closed }) > Int(given.session.connections)
      {
        return met(.lefts)
      }
      // The flow-control windows never get back what was sent on streams that nghttp2 refused
      // itself.
      if connection.refusesHidden { return met(.lefts) }
      // The PING may not have been written or read: a peer that has sent GOAWAY may read none.
      // Earlier bytes of the peer may still be on their way.
      let unheard = max(silence, clock - connection.tookAt)
      if since > 0 || connection.isDeaf || connection.lastStream != .max, unheard >= unanswered {
        return met(.pingTimeouts)
      }
      if connection.everRefused { return met(.lefts) }
    }
    // A request that was answered early is not over before it has arrived in full.
    let isUnfinished = connection.requests.contains { $0 >= 0 && !ledger.asked[$0].isComplete }
    // We know nothing of streams above the last stream that the service processes.
    let mayHide = connection.mayHide || connection.lastStream != .max
    if silence >= answerTimeout, connection.openRequests > 0 || mayHide || isUnfinished {
      return met(.answerTimeouts)
    }
    violate("\(connection) is dropped, and there was nothing wrong with it")
  }

  // MARK: Ends

  /// The session reported an outcome to the caller.
  func tell(_ event: apns_event_t) {
    guard let number = takeBack(event.user_data) else { return }
    let end: HTTP2End =
      switch apns_event_kind_t(UInt32(event.kind)) {
      case APNS_EVENT_ACCEPTED: .accepted
      case APNS_EVENT_REJECTED:
        .rejected(status: event.http_status, reason: UInt8(event.reason))
      case APNS_EVENT_CANCELLED: .cancelled
      case APNS_EVENT_EXPIRED: .expired
      default: .unknown
      }
    say("event of \(number): \(end)")
    let sent = ledger.sent + number
    if sent.pointee.identifier != event.identifier {
      violate(
        "event of \(number) has identifier \(event.identifier), not \(sent.pointee.identifier)")
    }
    if sent.pointee.told != .none { violate("second event of \(number)") }
    sent.pointee.told = end
    ledger.told += 1
    switch end {
    case .accepted:
      met(.acceptedEvents)
      if sent.pointee.isBegunLate { violate("\(number) was begun after its deadline") }
      ledger.toldAccepted += 1
      if !reportsAccepted, !pushed.isTelling {
        violate("event of the accepted \(number), against the options")
      }
      checkAccepted(number)
      checkTurn(number)
      checkIdentifier(number, event)
    case .rejected(let status, let reason):
      met(.rejectedEvents)
      ledger.toldRejected += 1
      checkRejected(number, status, reason, event)
      checkTurn(number)
      checkIdentifier(number, event)
    case .cancelled:
      met(.cancelledEvents)
      if sent.pointee.processor >= 0 { violate("\(number) ends as cancelled, and was processed") }
      if !sent.pointee.isCancelled { violate("\(number) ends as cancelled, and was not") }
    case .expired:
      met(.expiredEvents)
      if sent.pointee.processor >= 0 { violate("\(number) ends as expired, and was processed") }
      if sent.pointee.doubts > 0 { violate("\(number) ends as expired, and was in doubt") }
      if !isDue(number) { violate("\(number) ends as expired, and was not due") }
    case .unknown, .none:
      met(.unknownEvents)
      if isDue(number) { met(.dueInDoubt) }
      ledger.toldUnknown += 1
      checkUnknown(number)
    }
  }

  /// Outcomes come in the order of the responses, unless another try was to follow.
  private func checkTurn(_ number: Int) {
    guard !pushed.isTelling, !isAnsweredEarly, ledger.sent[number].answered >= 0 else { return }
    let asked = ledger.asked[ledger.sent[number].answered]
    if asked.status != 200, asksAgain(asked) { return }
    if asked.turn < ledger.lastTurn { violate("event of \(number) after one of a later response") }
    ledger.lastTurn = asked.turn
  }

  func checkAccepted(_ number: Int) {
    let sent = ledger.sent[number]
    guard sent.processor >= 0 else { return violate("\(number) ends as accepted, and was not") }
    guard sent.answered >= 0, ledger.asked[sent.answered].status == 200 else {
      return violate("\(number) ends as accepted, and no answer says so")
    }
  }

  private func checkRejected(
    _ number: Int, _ status: UInt16, _ reason: UInt8, _ event: apns_event_t
  ) {
    let sent = ledger.sent + number
    guard sent.pointee.answered >= 0 else {
      return violate("\(number) ends as rejected, and had no answer")
    }
    let asked = ledger.asked[sent.pointee.answered]
    if asked.status != status {
      violate("\(number) ends as rejected with \(status), not \(asked.status)")
    }
    if asked.reason != reason {
      violate("\(number) ends as rejected for \(reason), not \(asked.reason)")
    }
    if sent.pointee.processor >= 0, sent.pointee.doubts + sent.pointee.unsureDoubts == 0 {
      violate("\(number) ends as rejected, and was processed")
    }
    if noteGone(number), event.timestamp != asked.timestamp / 1000 {
      violate("\(number) is gone since \(event.timestamp), not \(asked.timestamp)")
    }
    if asked.isEndRead { checkPatience(number, asked) }
  }

  /// The feedback has to list its device; false if the session has not read since when it is gone.
  @discardableResult
  func noteGone(_ number: Int) -> Bool {
    guard ledger.sent[number].answered >= 0 else { return false }
    let asked = ledger.asked[ledger.sent[number].answered]
    guard asked.timestamp > 0, asked.isEndRead else { return false }
    ledger.goneTold += 1
    ledger.sent[number].isTimeRead = true
    return true
  }

  /// A notification that may be retried must be retried as long as there is time.
  private func checkPatience(_ number: Int, _ asked: Asked) {
    let sent = ledger.sent[number]
    if sent.isCancelled || isDue(number) { return }
    let remedy = Reason(UInt32(asked.reason)).remedy(httpStatus: Int(asked.status))
    switch remedy {
    case .reject, .unregistered: return
    case .renewToken:
      if !scenario.showsToken || sent.asked > 1 || policy.generation > 1 || credentials > 0
        || scenario.lackingTokens > 0
      {
        return
      }
    case .reconnectOnce where sent.asked > 1: return
    case .wait, .reconnect, .reconnectOnce: break
    }
    // The service may have refused other streams of it, and which ones is unknown. After a GOAWAY
    // it may have waited too.
    if hasPatience(sent, tries: sent.asked - 1 + hiddenRefusals + goodbyes, after: asked) {
      let age = (clock - sent.takenAt) / 1_000_000_000
      violate("\(number) ends as rejected with \(asked.status) after \(age) s")
    }
  }

  /// Whether there is time for another try, after at most `tries`.
  private func hasPatience(_ sent: HTTP2Sent, tries: Int, after asked: Asked?) -> Bool {
    if sent.expiry > 0, sent.expiry < 1000 { return false }
    let pause = Int64(
      max(
        scenario.schedules.longest(
          after: max(tries, 0), isServerError: asked.map(isServerError) ?? false),
        min(asked?.retryAfter ?? 0, 86_400)))
    let timeout = given.tuning.retry_timeout_ms
    let retry: Int64 = timeout == 0 ? 60_000_000_000 : Int64(timeout) * 1_000_000
    return clock - sent.takenAt + pause * 1_000_000_000 < retry
  }

  private func checkUnknown(_ number: Int) {
    if isClosing { return }
    let sent = ledger.sent[number]
    let isDoubtful =
      sent.lastEnd.isDoubtful && sent.asked > 0 || unseenDrop >= sent.freeSince
      || sent.unsureDoubts > 0
    let isOpen = sent.newest >= 0 && ledger.asked[sent.newest].seen == .open
    // A push may have had no time for it.
    let isEarly = pushed.isTelling && sent.isCancelled
    let isDue = isDue(number)
    if isOpen, !isEarly, !mayBeGivenUp(sent.newest) {
      return violate("\(number) ends as unknown while it waits for an answer")
    }
    // It had a stream at its deadline, despite a later response; or an unwritten TLS record has it.
    if let due = sent.due, isDue, sent.asked == 0 || sent.freeSince >= due.lowerBound { return }
    if sent.isCancelled || isDue {
      // A push may have offered it to a connection that took nothing or reads nothing.
      let isOffered =
        (isEarly || isDue)
        && lines.contains {
          $0.phase == .open && ($0.pendingCount > 0 || $0.isDeaf || $0.lastStream != .max)
        }
      let isUnseen = unseenDrops > sent.unseenDropsBefore || hiddenRefusals > 0 || isOffered
      if !isDoubtful, !isOpen, !isUnseen, sent.doubts + sent.refusals == 0 {
        violate("\(number) ends as unknown and not as cancelled or expired")
      }
      return
    }
    // The service may have processed it all the same, each time. A few of these requests may have
    // waited for lines that took nothing, where nobody saw them.
    if goodbyes > 0, goodbyes + sent.doubts + sent.unsureDoubts >= Self.mostDeliveries {
      return
    }
    let refusals = sent.refusals + hiddenRefusals
    // It was refused again and again, until there was no time for a retry.
    let wasRefused = sent.lastEnd == .refused || turnedDownAt >= sent.freeSince
    if wasRefused || hiddenRefusals > 0, refusals + sent.doubts + sent.unsureDoubts > 3,
      !hasPatience(sent, tries: sent.asked + hiddenRefusals, after: nil)
    {
      return
    }
    // If the service refused unidentified streams, the session may have abandoned such a stream
    // before it knew that.
    let isGivenUp = hiddenRefusals > 0 && clock - sent.freeSince >= answerTimeout
    // The same holds for a stream on a connection that hides which streams count.
    let isHidden = lines.contains {
      $0.phase == .open && $0.hidesSince > 0
        && clock - max($0.hidesSince, sent.freeSince) >= answerTimeout
    }
    if !isDoubtful, !isOpen, !isGivenUp, !isHidden {
      return violate("\(number) ends as unknown, and its last stream is \(sent.lastEnd)")
    }
    if scenario.isPoisonOnly, case .good = sent.planned {
      violate("\(number) ends as unknown by another one's fault")
    }
    // Requests that the service never saw, as far as there may have been any.
    let unseen = unseenDrops - sent.unseenDropsBefore + (isOpen ? 1 : 0) + hiddenRefusals
    // Nobody saw a request that waited for a line that took nothing, and was abandoned there.
    let doubts = sent.doubts + sent.unsureDoubts
    if scenario.resends, doubts + refusals + unseen < Self.mostDeliveries,
      starvedAt < sent.takenAt
    {
      violate("\(number) ends as unknown after \(doubts) doubts")
    }
  }

  /// The apns-id has to be the caller's own or from the service's responses to the notification.
  private func checkIdentifier(_ number: Int, _ event: apns_event_t) {
    guard ledger.sent[number].answered >= 0 else { return }
    let text = withUnsafeBytes(of: event.apns_id) {
      HTTP2Identifier.read(UnsafeRawBufferPointer(rebasing: $0[0..<HTTP2Identifier.count]))
    }
    guard let (told, isOwn) = text else {
      if ledger.asked[ledger.sent[number].answered].isEndRead {
        violate("event of \(number) without its apns-id")
      }
      return
    }
    let isRight =
      isOwn
      ? told == number && ledger.sent[number].hasIdentifier
      : told < ledger.asked.count && ledger.asked[told].number == number
    if !isRight { violate("event of \(number) with the apns-id of another notification") }
  }

  /// Its deadline has come.
  func isDue(_ number: Int) -> Bool { clock >= ledger.sent[number].due?.lowerBound ?? .max }

  func noteCancelling(_ number: Int) { ledger.sent[number].isCancelled = true }
  func identifier(_ number: Int) -> UInt32 { ledger.sent[number].identifier }
  /// A request with an early response is written no further, and the next call may validate it.
  var offered: Int { isAnsweredEarly ? taken : 0 }

  func isTold(_ number: Int) -> Bool { ledger.sent[number].told != .none }
  func wasAccepted(_ number: Int) -> Bool { ledger.sent[number].processor >= 0 }
  func mayBeAccepted(_ number: Int) -> Bool {
    let answered = ledger.sent[number].answered
    return answered >= 0 && ledger.asked[answered].status == 200
  }
  func hasToBeAccepted(_ number: Int) -> Bool {
    let answered = ledger.sent[number].answered
    guard answered >= 0, ledger.asked[answered].status == 200 else { return false }
    // It may have been abandoned before the service knew that.
    return ledger.sent[number].freeSince < ledger.sent[number].due?.lowerBound ?? .max
  }

  var answersRead: Int? { ledger.answersRead }

  func checkOwn(_ stats: apns_session_stats_t) {
    if stats.in_flight > stats.unresolved {
      violate("stats: \(stats.in_flight) in flight, and \(stats.unresolved) without an end")
    }
    if stats.window > UInt64(given.session.window_bytes) {
      violate("stats: window is \(stats.window)")
    }
    if (stats.unresolved == 0) != (stats.first_unresolved == 0) {
      violate("stats: first_unresolved is \(stats.first_unresolved) of \(stats.unresolved)")
    }
  }
}
