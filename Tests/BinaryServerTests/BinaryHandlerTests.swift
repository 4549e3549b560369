import APNS
import BinaryServer
import Logging
import NIOCore
import NIOEmbedded
import Testing

/// Tests the handler with a delegate that only records calls, as a server other than the simulator
/// would use it.
@Suite struct BinaryHandlerTests {
  private final class Notes: BinaryConnectionDelegate {
    var accepted: [UInt32?] = []
    var rejected: [UInt8] = []
    var discarded = 0
    var batches = 0
    var isBatchOpen = false
    var next = AfterAcceptance.readOn
    var isIgnoring = false

    func connected(_ context: ChannelHandlerContext) {}
    func received(_ count: Int) {}
    func beginBatch() { isBatchOpen = true }
    func endBatch() {
      isBatchOpen = false
      batches += 1
    }
    func rejection(of frame: Frame) -> Rejection? {
      frame.notification.identifier == 99 ? Rejection(frame, status: 7, reason: "99") : nil
    }
    func accepted(
      _ frame: Frame, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext
    ) -> AfterAcceptance {
      accepted.append(frame.notification.identifier)
      defer { next = .readOn }
      return next
    }
    func rejected(_ rejection: inout Rejection, _ bytes: UnsafeRawBufferPointer) -> AfterRejection {
      rejected.append(rejection.status)
      return isIgnoring ? .ignore : .answer
    }
    func discarded(_ frame: UnsafeRawBufferPointer) { discarded += 1 }
    func handshakeFailed() {}
    func closed() {}
  }

  private let notes = Notes()
  private let closes = CloseRecorder()
  private let channel: EmbeddedChannel

  init() {
    let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    channel = EmbeddedChannel(handlers: [
      closes, BinaryHandler(rules: FrameRules(), delegate: notes, logger: silent),
    ])
  }

  private static func frame(_ identifier: UInt8, token: [UInt8] = [1, 2]) -> [UInt8] {
    [1, 0, 0, 0, identifier, 0, 0, 0, 0, 0, UInt8(token.count)] + token + [0, 2, 0x7B, 0x7D]
  }

  private func bring(_ bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

  private func answer() throws -> [UInt8]? {
    try channel.readOutbound(as: ByteBuffer.self).map { Array($0.readableBytesView) }
  }

  @Test func readsFramesInAnyPieces() throws {
    for byte in Self.frame(1) + Self.frame(2) { try bring([byte]) }
    #expect(notes.accepted == [1, 2])
    #expect(try answer() == nil)
  }

  @Test func endsTheBatchBeforeTheAnswerLeaves() throws {
    try bring(Self.frame(1) + Self.frame(3, token: []) + Self.frame(4) + Self.frame(5))
    #expect(notes.batches == 2 && !notes.isBatchOpen)
    #expect(try answer() == [8, 2, 0, 0, 0, 3])
    #expect(notes.accepted == [1] && notes.rejected == [2] && notes.discarded == 2)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(49))
    #expect(closes.modes.isEmpty)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(closes.modes == [.output])
  }

  @Test func rejectsIfTheDelegateRejects() throws {
    try bring(Self.frame(99))
    #expect(try answer() == [8, 7, 0, 0, 0, 99])
  }

  @Test func skipsIfTheDelegateIgnores() throws {
    notes.isIgnoring = true
    try bring(Self.frame(3, token: []) + Self.frame(4))
    #expect(try answer() == nil)
    #expect(notes.accepted == [4])
  }

  @Test func pausesUntilReadingIsResumed() throws {
    notes.next = .pause
    try bring(Self.frame(1) + Self.frame(2))
    try bring(Self.frame(3))
    #expect(notes.accepted == [1])
    channel.pipeline.fireUserInboundEventTriggered(ReadingResumed())
    #expect(notes.accepted == [1, 2, 3])
  }

  @Test func shutdownNamesTheLastAccepted() throws {
    notes.next = .shutDown
    try bring(Self.frame(6) + Self.frame(7))
    #expect(try answer() == [8, 10, 0, 0, 0, 6])
    #expect(notes.discarded == 1)
  }

  @Test func isDismissedBetweenTwoFrames() throws {
    try bring(Self.frame(6) + Self.frame(7).prefix(4))
    channel.pipeline.fireUserInboundEventTriggered(
      ConnectionDismissed(with: ErrorPacket(status: ErrorPacket.shutdown, identifier: 6)))
    try bring(Array(Self.frame(7).dropFirst(4)) + Self.frame(8))
    #expect(try answer() == [8, 10, 0, 0, 0, 6])
    #expect(notes.accepted == [6] && notes.discarded == 2)
  }

  @Test func closesWithoutAnAnswer() throws {
    notes.next = .close(.closeNotify)
    try bring(Self.frame(6))
    #expect(try answer() == nil)
    #expect(closes.modes == [.output])
  }
}
