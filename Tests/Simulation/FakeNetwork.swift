/// The session's network. Every call is a step of the world.
struct FakeNetwork<World: Wired>: Network, ~Copyable {
  let world: World

  var now: Int64 {
    world.tick()
    return world.clock
  }

  mutating func random() -> UInt64 { world.dice.next() }

  mutating func open(_ line: Int, isStandby: Bool, by deadline: Int64) throws(Failure) {
    world.deeds += 1
    world.tick()
    try world.open(line, isStandby: isStandby, by: deadline)
  }

  mutating func advance(_ line: Int) throws(Failure) -> Opening {
    world.deeds += 1
    world.tick()
    return try world.advance(line)
  }

  mutating func read(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    world.deeds += 1
    world.tick()
    return world.read(line, into: buffer)
  }

  mutating func write(_ line: Int, _ bytes: UnsafeRawBufferPointer) -> Writing {
    world.deeds += 1
    world.tick()
    return world.write(line, bytes)
  }

  func failure(_ line: Int) -> Failure { world.failure(line) }

  func isReadable(_ line: Int) -> Bool {
    world.tick()
    return world.isReadable(line)
  }

  mutating func halfClose(_ line: Int) {
    world.tick()
    world.halfClose(line)
  }

  mutating func drop(_ line: Int) {
    world.deeds += 1
    world.tick()
    if world.lines[line].phase != .closed { world.stepsForward += 1 }
    world.drop(line)
  }

  mutating func silence() { world.violate("silence where nobody forked") }

  mutating func watch(_ line: Int, for readiness: Readiness) {
    world.watch(line, for: readiness)
  }

  mutating func ignoreUnread(_ line: Int) {
    world.lines[line].watched &= ~Readiness.reading.rawValue
  }

  mutating func wait(until time: Int64) {
    world.tick()
    world.wait(until: time)
  }

  mutating func look() {
    world.tick()
    world.look()
  }

  mutating func arm(until time: Int64) {
    world.tick()
    world.arm(until: time)
  }

  mutating func wake() {
    world.tick()
    world.isHurried = true
  }

  mutating func pause(_ time: Int64) {
    world.tick()
    world.pause(time)
  }

  mutating func readiness(_ line: Int) -> Readiness { world.readiness(line) }

  func append(to message: inout Message) { message.append("the model gateway") }
}
