import CAPNS
import CSystem

/// A provider's way to one gateway: queues notifications in the window, writes
/// them, and turns what the gateway says, or fails to say, into outcomes.
struct Session: ~Copyable {
  let options: SessionOptions
  private let endpoint: Endpoint
  private let trust: TrustContext
  private let origin = ProcessOrigin()
  private(set) var window: Window
  private var connection: TLSConnection?
  private var resumption: TLSSession?
  private var packet = ErrorPacketReader()
  private(set) var isClosed = false

  private(set) var connects: UInt64 = 0
  private(set) var bytes: UInt64 = 0
  private(set) var records: UInt64 = 0

  /// When the connection was last looked at, and last written to.
  private var lastLook: Int64 = 0
  private var lastWrite: Int64 = 0
  /// Connections in a row, made or not, that settled nothing; of these, the ones
  /// that took notifications with them; and when the next may be made.
  private var fruitless = 0
  private var ambiguousEnds = 0
  private var nextConnect: Int64 = 0

  /// A TLS record carries at most this much (RFC 8446, 5.1).
  private static let recordSize = 16 << 10
  /// How often a busy connection is looked at: one system call in so many ns.
  private static let lookInterval: Int64 = 500_000
  /// After so many ambiguous ends in a row what was in flight is not sent again:
  /// something in it may be what ends the connections.
  private static let ambiguousEndsMax = 5
  private static let firstPause: Int64 = 50_000_000
  private static let longestPause: Int64 = 5_000_000_000

  init(
    _ options: SessionOptions, endpoint: consuming Endpoint, trust: consuming TrustContext,
    window: consuming Window
  ) {
    self.options = options
    self.endpoint = endpoint
    self.trust = trust
    self.window = window
  }

  /// The connection is the parent's: not a byte may be said on it from here.
  mutating func leaveToParent() { connection?.silence() }

  var isForeign: Bool { !origin.isHere }

  func deadline(milliseconds: Int32) -> Deadline {
    Deadline(
      milliseconds: milliseconds < 0
        ? options.connectTimeout &+ options.writeTimeout : Int64(milliseconds))
  }

  // MARK: Sending

  /// Takes a notification into the window; waits only where the window is full.
  @inline(__always)
  mutating func take(
    _ notification: WireNotification, userData: UnsafeMutableRawPointer?
  ) throws(Failure) -> UInt32 {
    var notification = notification
    notification.identifier = window.identifier
    guard let size = FrameEncoder.size(of: notification, as: options.command),
      size <= window.largestFrame
    else { throw Failure(APNS_ERR_ARGUMENT, "the notification is larger than the window") }
    let place: Int
    if let free = window.reserve(size) {
      place = free
    } else {
      place = try makeRoom(size)
      notification.identifier = window.identifier
    }
    FrameEncoder.encode(
      notification, as: options.command, size: size, into: window.ring.address(place))
    window.commit(place, size: size, userData: userData)
    return notification.identifier ?? 0
  }

  /// Learns the fate of what is in flight, so that its room can be used again.
  @inline(never)
  private mutating func makeRoom(_ size: Int) throws(Failure) -> Int {
    if !window.isFullOfOutcomes { try settle(by: deadline(milliseconds: -1)) }
    if let place = window.reserve(size) { return place }
    throw Failure(APNS_ERR_FULL) {
      $0.append(window.waitingOutcomes)
      $0.append(" outcomes wait to be taken")
    }
  }

  /// A record's worth waits to be written.
  @inline(__always)
  var hasFullRecord: Bool { window.ring.unwritten >= Self.recordSize }

  /// Connects where the session is not connected, so that a send that cannot
  /// succeed fails before it takes anything.
  @inline(__always)
  mutating func connect() throws(Failure) {
    if connection == nil { try connect(by: Deadline(milliseconds: options.connectTimeout)) }
  }

  /// Writes what waits: all of it, or whole records only.
  mutating func write(all: Bool) throws(Failure) {
    try write(all: all, by: deadline(milliseconds: -1))
  }

  @inline(never)
  private mutating func write(all: Bool, by deadline: Deadline) throws(Failure) {
    while window.hasUnwritten, all || hasFullRecord {
      if connection == nil { try connect(by: deadline) }
      try lookIfDue()
      if connection == nil { continue }
      try writeRecord(by: deadline)
    }
  }

  @inline(never)
  private mutating func writeRecord(by deadline: Deadline) throws(Failure) {
    let record = window.nextRecord(limit: Self.recordSize)
    guard record.count > 0, let result = connection?.write(record) else { return }
    switch result {
    case .bytes(let count):
      window.wrote(count)
      bytes &+= UInt64(count)
      records &+= 1
      lastWrite = lastLook
    case .full: try waitToWrite([.reading, .writing], by: deadline)
    case .needsReading: try waitToWrite(.reading, by: deadline)
    case .broken(let failure):
      // The packet that says why may have come before the connection went.
      try readAll()
      if connection != nil { try connectionEnded(failure) }
    }
  }

  /// An error packet that lies unread is the likeliest reason why nothing goes out.
  @inline(never)
  private mutating func waitToWrite(
    _ wanted: Readiness, by deadline: Deadline
  ) throws(Failure) {
    let stalled = Deadline(milliseconds: options.writeTimeout)
    guard let ready = connection?.wait(for: wanted, stalled.earlier(deadline)) else {
      if !stalled.hasPassed {
        throw Failure(APNS_ERR_TIMEOUT) {
          $0.append("time ran out while writing to ")
          endpoint.append(to: &$0)
        }
      }
      let failure = Failure(APNS_ERR_TIMEOUT) {
        $0.append("the peer took nothing for ")
        $0.append(Int(options.writeTimeout))
        $0.append(" ms: ")
        endpoint.append(to: &$0)
      }
      try connectionEnded(failure)
      throw failure
    }
    if ready.contains(.reading) { try readAll() }
  }

  // MARK: Connecting

  @inline(never)
  private mutating func connect(by deadline: Deadline) throws(Failure) {
    try pause(by: deadline)
    packet = ErrorPacketReader()
    let limit = Deadline(milliseconds: options.connectTimeout).earlier(deadline)
    do throws(Failure) {
      connection = try TLSConnection.open(
        to: endpoint, trusting: trust, resuming: resumption, by: limit)
    } catch {
      resumption = nil
      backOff()
      throw error
    }
    connects &+= 1
    lastLook = Deadline.now
    lastWrite = lastLook
  }

  private mutating func dropConnection() {
    resumption = connection?.session
    connection = nil
  }

  /// Rapid reconnects are an attack in the gateway's eyes: after one that
  /// achieved nothing comes a pause, twice as long each time.
  private mutating func pause(by deadline: Deadline) throws(Failure) {
    while true {
      let left = nextConnect &- Deadline.now
      if left <= 0 { return }
      if deadline.hasPassed {
        throw Failure(APNS_ERR_TIMEOUT) {
          $0.append("waiting to reconnect to ")
          endpoint.append(to: &$0)
          $0.append(" after ")
          $0.append(fruitless)
          $0.append(" connections that achieved nothing")
        }
      }
      poll(nil, 0, Deadline(nanoseconds: nextConnect).earlier(deadline).milliseconds)
    }
  }

  private mutating func backOff() {
    let pause = min(Self.firstPause &<< Int64(min(fruitless, 10)), Self.longestPause)
    fruitless &+= 1
    nextConnect = Deadline.now &+ pause
  }

  // MARK: Hearing

  private mutating func lookIfDue() throws(Failure) {
    let now = Deadline.now
    guard now &- lastLook >= Self.lookInterval else { return }
    lastLook = now
    if connection?.look(for: .reading) != nil { try readAll() }
  }

  /// Takes all that is there. Throws where the peer refused the provider itself.
  @inline(never)
  private mutating func readAll() throws(Failure) {
    try withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) {
      (buffer) throws(Failure) in
      while let reading = connection?.read(into: buffer) {
        switch reading {
        case .bytes(let count):
          try heard(UnsafeRawBufferPointer(rebasing: buffer[0..<count]))
        case .nothing: return
        case .end: try connectionEnded(nil)
        case .broken(let failure): try connectionEnded(failure)
        }
      }
    }
  }

  private mutating func heard(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    let packet: ErrorPacket?
    do throws(WireError) {
      packet = try self.packet.read(bytes)
    } catch {
      try connectionEnded(
        Failure(APNS_ERR_PROTOCOL) {
          $0.append("not an error packet from ")
          endpoint.append(to: &$0)
          $0.append(": it begins with 0x")
          $0.append(hex: bytes.first ?? 0)
        })
      return
    }
    guard let packet else { return }
    switch window.errorPacket(status: packet.status, identifier: packet.identifier) {
    case .settled:
      fruitless = 0
      ambiguousEnds = 0
      nextConnect = 0
      // The gateway discards whatever else was written here.
      dropConnection()
    case .ambiguous: try connectionEnded(nil)
    }
  }

  /// The connection is gone without a packet that settles anything.
  @inline(never)
  private mutating func connectionEnded(_ failure: Failure?) throws(Failure) {
    dropConnection()
    if let failure, failure.refusesProvider {
      window.connectionRefused()
      backOff()
      throw failure
    }
    if window.hasInFlight {
      ambiguousEnds &+= 1
      let resends = options.resendsAmbiguous && ambiguousEnds < Self.ambiguousEndsMax
      window.connectionEnded(resend: resends)
      if !resends { ambiguousEnds = 0 }
      backOff()
    } else {
      window.connectionEnded(resend: true)
    }
  }

  // MARK: Settling

  /// Returns when every notification has its end.
  mutating func settle(by deadline: Deadline) throws(Failure) {
    while true {
      try write(all: true, by: deadline)
      if window.isEmpty { return }
      if connection == nil { continue }
      if options.quietPeriod > 0 {
        try awaitQuiet(by: deadline)
      } else if options.command == .simple {
        // Silence proves nothing, and nothing else will ever come.
        try readAll()
        window.giveUpWritten()
      } else if window.hasSentinel {
        try awaitWord(by: deadline)
      } else {
        try queueSentinel()
      }
    }
  }

  /// A notification without a token, which the gateway cannot but answer: it
  /// names it, and thereby proves all that was sent before.
  private mutating func queueSentinel() throws(Failure) {
    try withUnsafeTemporaryAllocation(byteCount: 2, alignment: 1) { (braces) throws(Failure) in
      braces[0] = 0x7B
      braces[1] = 0x7D
      let sentinel = WireNotification(
        token: UnsafeRawBufferPointer(start: nil, count: 0),
        payload: UnsafeRawBufferPointer(braces), identifier: window.identifier)
      guard let size = FrameEncoder.size(of: sentinel, as: options.command),
        let place = window.reserveSentinel(size)
      else { throw Failure(APNS_ERR_FULL, "no room for a sentinel") }
      FrameEncoder.encode(
        sentinel, as: options.command, size: size, into: window.ring.address(place))
      window.commitSentinel(place, size: size)
    }
  }

  private mutating func awaitWord(by deadline: Deadline) throws(Failure) {
    guard connection?.wait(for: .reading, deadline) != nil else {
      throw Failure(APNS_ERR_TIMEOUT) {
        $0.append(window.unresolved)
        $0.append(" notifications wait for the word of ")
        endpoint.append(to: &$0)
      }
    }
    try readAll()
  }

  private mutating func awaitQuiet(by deadline: Deadline) throws(Failure) {
    let quiet = Deadline(nanoseconds: lastWrite &+ options.quietPeriod &* 1_000_000)
    if connection?.wait(for: .reading, quiet.earlier(deadline)) != nil {
      try readAll()
    } else if quiet.hasPassed {
      window.quietPeriodPassed()
      fruitless = 0
      ambiguousEnds = 0
    } else {
      throw Failure(APNS_ERR_TIMEOUT, "the quiet period has not passed")
    }
  }

  // MARK: Outcomes

  /// The next outcome; nil when none came by the deadline. With `milliseconds`
  /// 0 nothing is written and no connection made.
  mutating func nextOutcome(milliseconds: Int32) throws(Failure)
    -> (outcome: Outcome, identifier: UInt32, userData: UnsafeMutableRawPointer?)?
  {
    if let outcome = window.takeOutcome() { return outcome }
    if isClosed { return nil }
    if milliseconds == 0 {
      if connection?.look(for: .reading) != nil { try readAll() }
      return window.takeOutcome()
    }
    let deadline = deadline(milliseconds: milliseconds)
    while window.unresolved > 0 {
      try write(all: true, by: deadline)
      if let outcome = window.takeOutcome() { return outcome }
      if connection == nil { continue }
      guard connection?.wait(for: .reading, deadline) != nil else { return nil }
      try readAll()
      if let outcome = window.takeOutcome() { return outcome }
    }
    return nil
  }

  // MARK: Closing

  /// Ends the connection gently; what has no end becomes unknown.
  mutating func close(by deadline: Deadline) {
    guard !isClosed else { return }
    // What cannot be written any more ends as unknown, like all that has no end.
    if connection != nil { try? write(all: true, by: deadline) }
    var packet = self.packet
    var last: ErrorPacket?
    connection?.close(by: deadline) { bytes in
      if last == nil { last = try? packet.read(bytes) }
    }
    connection = nil
    if let last { _ = window.errorPacket(status: last.status, identifier: last.identifier) }
    window.abandon()
    isClosed = true
  }
}
