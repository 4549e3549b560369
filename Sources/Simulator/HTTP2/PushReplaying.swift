import BinaryServer
import NIOCore

/// Answers of a recording.
extension PushHandler {
  func play(
    _ step: Replay.Step, _ push: Push, _ context: ChannelHandlerContext
  ) {
    streams.waiting[push.id]?.step = step
    streams.waiting[push.id]?.token = push.token
    var push = push
    push.delay = step.delay
    switch step.answer {
    // Above the last stream of a GOAWAY, so that the client may send it again.
    case .lost: break
    default: streams.validated(push.id)
    }
    switch step.answer {
    case .accepted: accept(push, context)
    case .refused(let reason):
      let time = reason.tellsTime ? WallClock.milliseconds : nil
      refuse(push, reason, since: time, context)
    case .reset(let code):
      context.eventLoop.assumeIsolated().scheduleTask(in: step.delay) { [self] in
        guard canRespond, streams.waiting[push.id] != nil else { return }
        inBatch { reset(push, code, context) }
        context.flush()
      }
    case .silence: recorder.ignore(push, key: validator?.lastKey)
    case .lost:
      streams.waiting[push.id]?.lost = push
      context.eventLoop.assumeIsolated().scheduleTask(in: step.delay) { [self] in
        guard canRespond, streams.waiting[push.id]?.lost != nil, let replay = services.replay else {
          return
        }
        // The recorded end has happened, on another connection.
        if !replay.end(step, on: context.channel) { inBatch { playNext(push, context) } }
      }
    }
  }

  func end(_ end: RecordedEnd, _ context: ChannelHandlerContext) {
    guard canRespond, !hasSentGoAway else { return }
    switch end.manner {
    case .close(let ending):
      logger.info("\(ending.rawValue), as recorded")
      // RST would destroy the responses that the client has not read.
      close(context, ending, after: GracefulClose.pause)
    case .goAway(let error, let reason):
      inBatch {
        // GOAWAY with a higher ID does not say that the client may send these again.
        for (id, stream) in streams.waiting where id < streams.lastValidated {
          if let lost = stream.lost { playNext(lost, context) }
        }
        goAway(.graceful, error: error, reason: reason, context)
      }
      closeIfDone(context)
    }
  }

  /// A push that cannot be lost any more gets the answer that followed.
  func playNext(_ push: Push, _ context: ChannelHandlerContext) {
    streams.waiting[push.id]?.lost = nil
    if let step = services.replay?.take(push.token) { return play(step, push, context) }
    streams.validated(push.id)
    accept(push, context)
  }
}
