import CSystem

/// Builds a payload. Each value is kept as the JSON it will become, so writing the payload
/// only copies pieces one after another.
struct PayloadBuilder: ~Copyable {
  /// The place of one key's piece, for example `"badge":3`. A key keeps its place, and the
  /// part before the value is written there only once.
  private struct Piece {
    var offset: UInt32 = 0
    /// 0: the key has no place yet.
    var capacity: UInt32 = 0
    /// The length of `"badge":`.
    var head: UInt32 = 0
    /// 0: the key is not set.
    var length: UInt32 = 0
    /// The text that may be shortened: its offset from the piece's start, and its length in
    /// bytes without escapes.
    var textStart: UInt32 = 0
    var textBytes: UInt32 = 0
  }

  /// 0: the limit of its push.
  let limit: Int
  private let truncation: Truncation

  private var store = ByteStore()
  private var pieces = InlineArray<35, Piece>(repeating: Piece())
  /// The keys of `aps` and those of the alert, in the order in which they were first set.
  private var order = KeyOrder()
  private var alertOrder = KeyOrder()
  /// The total length of the pieces that are set, each with a comma.
  private var total = 0
  /// `,"name":value` for each custom key.
  private var custom = ByteStore()
  private var names = KeySet()

  init(limit: Int, truncation: consuming Truncation) {
    self.limit = limit
    self.truncation = truncation
  }

  mutating func reset() {
    for index in 0..<order.count { clear(order[index]) }
    for index in 0..<alertOrder.count { clear(alertOrder[index]) }
    order.removeAll()
    alertOrder.removeAll()
    total = 0
    removeCustom()
  }

  // MARK: Apple's keys

  @_optimize(speed)
  mutating func set(
    _ key: PayloadKey, string: UnsafeRawBufferPointer
  ) throws(PayloadFault) {
    try checkAlert(key)
    let measured = try JSONText.measure(string)
    guard measured >= string.count, measured < 1 << 30 else { throw PayloadFault(.tooLarge) }
    let start = try begin(key, measured &+ 2)
    start.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
    let end = JSONText.write(string, measured: measured, to: start + 1)
    end.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
    commit(key, measured &+ 2, textStart: 1, textBytes: string.count)
  }

  /// Sets an array of strings; `string` returns the one at an index.
  @inline(never)
  mutating func set(
    _ key: PayloadKey, count: Int, string: (Int) -> UnsafeRawBufferPointer
  ) throws(PayloadFault) {
    try checkAlert(key)
    var length = 2 &+ max(0, count &- 1)
    for index in 0..<count {
      do throws(PayloadFault) {
        length &+= try JSONText.measure(string(index)) &+ 2
      } catch {
        var fault = error
        fault.element = Int32(truncatingIfNeeded: index)
        throw fault
      }
      guard length < 1 << 30 else { throw PayloadFault(.tooLarge) }
    }
    let start = try begin(key, length)
    var (textStart, textBytes) = (0, 0)
    var target = Self.put("[", start)
    for index in 0..<count {
      target = Self.put(index > 0 ? ",\"" : "\"", target)
      let text = string(index)
      (textStart, textBytes) = (target - start, text.count)
      // Text with escapes cannot be copied plainly, and the array's length does not show which of
      // its texts have any.
      target = Self.put("\"", JSONText.write(text, measured: -1, to: target))
    }
    _ = Self.put("]", target)
    commit(key, length, textStart: textStart, textBytes: textBytes)
  }

  @_optimize(speed)
  mutating func set(_ key: PayloadKey, integer: Int64) throws(PayloadFault) {
    if key == .contentChanged { return try set(key, word: integer != 0 ? "true" : "false") }
    try checkAlert(key)
    let start = try begin(key, NumberText.maxLength)
    commit(key, NumberText.write(integer, to: start) - start)
  }

  @inline(never)
  mutating func set(_ key: PayloadKey, number: Double) throws(PayloadFault) {
    guard number.isFinite else { throw PayloadFault(.notANumber) }
    try checkAlert(key)
    let start = try begin(key, NumberText.maxLength)
    commit(key, NumberText.write(number, to: start) - start)
  }

  @inline(never)
  mutating func set(_ key: PayloadKey, word: StaticString) throws(PayloadFault) {
    try checkAlert(key)
    let start = try begin(key, word.utf8CodeUnitCount)
    commit(key, Self.put(word, start) - start)
  }

  /// Sets a JSON object. It is written after all pieces first, where `move` would put it, so that
  /// the old value stays if it is invalid.
  @_optimize(speed)
  @inline(never)
  mutating func set(_ key: PayloadKey, json: UnsafeRawBufferPointer) throws(PayloadFault) {
    try checkAlert(key)
    let head = key.name.utf8CodeUnitCount &+ 3
    let start = try store.room(for: head &+ json.count) + head
    let end: UnsafeMutableRawPointer
    do throws(JSONFault) {
      // The value stands within the payload and `aps`, and perhaps within the alert.
      end = try CompactJSON.write(json, within: key.isInAlert ? 3 : 2, to: start)
    } catch {
      var fault = PayloadFault(.json, at: error.offset)
      fault.json = error.reason
      throw fault
    }
    let length = end - start
    guard start.load(as: UInt8.self) == UInt8(ascii: "{") else { throw PayloadFault(.notAnObject) }
    if key.isText,
      !Self.isLocalization(UnsafeRawBufferPointer(start: start, count: length))
    {
      throw PayloadFault(.notLocalized)
    }
    let piece = pieces[Int(key.rawValue)]
    if let base = store.base, length <= Int(piece.capacity) &- Int(piece.head) {
      copyShort(start, to: base + (Int(piece.offset) &+ Int(piece.head)), length)
    } else {
      _ = try move(key, length)
    }
    commit(key, length)
  }

  /// Whether JSON is what the title or the body of a Live Activity's alert may be.
  @inline(never)
  private static func isLocalization(_ json: UnsafeRawBufferPointer) -> Bool {
    var reader = JSONReader(json)
    var (hasKey, hasArguments) = (false, false)
    do throws(JSONFault) {
      _ = try reader.next()
      while try reader.next() == .name {
        let name = KeyName(reader.token)
        let value = try reader.next()
        if name.equals("loc-key"), !hasKey, value == .string {
          hasKey = true
          continue
        }
        guard name.equals("loc-args"), !hasArguments, value == .beginArray else { return false }
        hasArguments = true
        var element = try reader.next()
        while element == .string { element = try reader.next() }
        if element != .endArray { return false }
      }
      return hasKey
    } catch {
      return false
    }
  }

  /// Sets a sound that plays in spite of the device's settings.
  @inline(never)
  mutating func setCriticalSound(
    _ name: UnsafeRawBufferPointer, volume: Double
  ) throws(PayloadFault) {
    guard volume >= 0, volume <= 1 else { throw PayloadFault(.range) }
    let measured = try JSONText.measure(name)
    guard measured < 1 << 30 else { throw PayloadFault(.tooLarge) }
    let start = try begin(.sound, 40 &+ measured &+ NumberText.maxLength)
    var target = Self.put("{\"critical\":1,\"name\":\"", start)
    target = JSONText.write(name, measured: measured, to: target)
    target = Self.put("\",\"volume\":", target)
    target = Self.put("}", NumberText.write(volume, to: target))
    commit(.sound, target - start)
  }

  /// Removes a key. Removing the alert removes everything in it.
  @inline(never)
  mutating func remove(_ key: PayloadKey) {
    if key == .alert, alertOrder.count > 0 {
      for index in 0..<alertOrder.count { drop(alertOrder[index]) }
      alertOrder.removeAll()
      removeAlert()
    } else if isSet(key) {
      drop(key)
      guard key.isInAlert else { return order.remove(key) }
      alertOrder.remove(key)
      // An alert without parts does not exist.
      if alertOrder.count == 0 { removeAlert() }
    }
  }

  private mutating func removeAlert() {
    order.remove(.alert)
    total &-= Self.alertBraces
  }

  private mutating func drop(_ key: PayloadKey) {
    total &-= length(key) &+ 1
    clear(key)
  }

  private mutating func clear(_ key: PayloadKey) { pieces[Int(key.rawValue)].length = 0 }

  @inline(__always)
  private func checkAlert(_ key: PayloadKey) throws(PayloadFault) {
    if key == .alert, alertOrder.count > 0 { throw PayloadFault(.alertHasParts) }
    if key.isInAlert, isSet(.alert) { throw PayloadFault(.alertIsText) }
  }

  /// Returns where to write the key's value, with room for `length` bytes. The old value is
  /// lost, so `commit` has to follow.
  @inline(__always)
  private mutating func begin(
    _ key: PayloadKey, _ length: Int
  ) throws(PayloadFault) -> UnsafeMutableRawPointer {
    let piece = pieces[Int(key.rawValue)]
    guard let base = store.base, length <= Int(piece.capacity) &- Int(piece.head) else {
      return try move(key, length)
    }
    return base + (Int(piece.offset) &+ Int(piece.head))
  }

  /// Gives the key a place, or a larger one.
  @inline(never)
  private mutating func move(
    _ key: PayloadKey, _ length: Int
  ) throws(PayloadFault) -> UnsafeMutableRawPointer {
    guard length < 1 << 30 else { throw PayloadFault(.tooLarge) }
    let index = Int(key.rawValue)
    // A value that grew may grow again, so it gets half as much room again.
    let standby = pieces[index].capacity > 0 ? length / 2 : 0
    let head = key.name.utf8CodeUnitCount &+ 3
    let capacity = head &+ length &+ standby
    var target = try store.room(for: capacity)
    target = Self.put("\":", Self.put(key.name, Self.put("\"", target)))
    pieces[index].offset = UInt32(truncatingIfNeeded: store.count)
    pieces[index].capacity = UInt32(truncatingIfNeeded: capacity)
    pieces[index].head = UInt32(truncatingIfNeeded: head)
    store.count &+= capacity
    return target
  }

  /// Sets the key to what was written. `textStart` is an offset from the value's start.
  @inline(__always)
  private mutating func commit(
    _ key: PayloadKey, _ valueLength: Int, textStart: Int = 0, textBytes: Int = 0
  ) {
    let index = Int(key.rawValue)
    var piece = pieces[index]
    let before = piece.length
    piece.length = piece.head &+ UInt32(truncatingIfNeeded: valueLength)
    piece.textStart = textStart == 0 ? 0 : piece.head &+ UInt32(truncatingIfNeeded: textStart)
    piece.textBytes = UInt32(truncatingIfNeeded: textBytes)
    pieces[index] = piece
    total &+= Int(piece.length) &- Int(before)
    if before == 0 { note(key) }
  }

  /// It starts a Live Activity.
  var startsActivity: Bool {
    let piece = pieces[Int(PayloadKey.event.rawValue)]
    let word = ActivityStart.event
    guard let base = store.base, Int(piece.length &- piece.head) == word.utf8CodeUnitCount &+ 2
    else { return false }
    let value = base + (Int(piece.offset) &+ Int(piece.head) &+ 1)
    return memcmp(value, word.utf8Start, word.utf8CodeUnitCount) == 0
  }

  /// Records a key that was not set before.
  @inline(__always)
  private mutating func note(_ key: PayloadKey) {
    total &+= 1
    guard key.isInAlert else { return order.append(key) }
    if alertOrder.count == 0 {
      order.append(.alert)
      total &+= Self.alertBraces
    }
    alertOrder.append(key)
  }

  /// The length of `"alert":{}` and a comma, minus the comma after the alert's last part.
  private static var alertBraces: Int { 10 }

  // MARK: Custom keys

  @_optimize(speed)
  mutating func add(
    _ name: UnsafeRawBufferPointer, string: UnsafeRawBufferPointer
  ) throws(PayloadFault) {
    let measured = try JSONText.measure(string)
    let entry = try beginCustom(name, valueLength: measured &+ 2)
    entry.value.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
    let end = JSONText.write(string, measured: measured, to: entry.value + 1)
    end.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
    try commit(entry, end: end + 1)
  }

  @inline(never)
  mutating func add(_ name: UnsafeRawBufferPointer, integer: Int64) throws(PayloadFault) {
    let entry = try beginCustom(name, valueLength: NumberText.maxLength)
    try commit(entry, end: NumberText.write(integer, to: entry.value))
  }

  @inline(never)
  mutating func add(_ name: UnsafeRawBufferPointer, number: Double) throws(PayloadFault) {
    guard number.isFinite else { throw PayloadFault(.notANumber) }
    let entry = try beginCustom(name, valueLength: NumberText.maxLength)
    try commit(entry, end: NumberText.write(number, to: entry.value))
  }

  @inline(never)
  mutating func add(_ name: UnsafeRawBufferPointer, word: StaticString) throws(PayloadFault) {
    let entry = try beginCustom(name, valueLength: word.utf8CodeUnitCount)
    try commit(entry, end: Self.put(word, entry.value))
  }

  @inline(never)
  mutating func add(
    _ name: UnsafeRawBufferPointer, json: UnsafeRawBufferPointer
  ) throws(PayloadFault) {
    let entry = try beginCustom(name, valueLength: json.count)
    let end: UnsafeMutableRawPointer
    do throws(JSONFault) {
      // The value stands within the payload's own object.
      end = try CompactJSON.write(json, within: 1, to: entry.value)
    } catch {
      var fault = PayloadFault(.json, at: error.offset)
      fault.json = error.reason
      throw fault
    }
    try commit(entry, end: end)
  }

  mutating func removeCustom() {
    custom.count = 0
    names.removeAll()
  }

  /// A custom key that does not count until `commit`.
  private struct Entry {
    /// Includes the quotation marks, so that an empty name has a length too.
    var nameLength: Int
    var value: UnsafeMutableRawPointer
  }

  /// Writes `,"name":` after the custom keys so far.
  @inline(__always)
  private mutating func beginCustom(
    _ name: UnsafeRawBufferPointer, valueLength: Int
  ) throws(PayloadFault) -> Entry {
    let measured = try measure(name: name)
    guard measured < 1 << 30, valueLength >= 0, valueLength < 1 << 30 else {
      throw PayloadFault(.tooLarge)
    }
    var target = try custom.room(for: measured &+ 4 &+ valueLength)
    target = JSONText.write(name, measured: measured, to: Self.put(",\"", target))
    return Entry(nameLength: measured &+ 2, value: Self.put("\":", target))
  }

  @inline(__always)
  private func measure(name: UnsafeRawBufferPointer) throws(PayloadFault) -> Int {
    if name.count == 3, name[0] == 0x61, name[1] == 0x70, name[2] == 0x73 {
      throw PayloadFault(.reserved)
    }
    do throws(PayloadFault) {
      return try JSONText.measure(name)
    } catch {
      throw PayloadFault(error.reason == .text ? .name : error.reason, at: error.offset)
    }
  }

  @inline(__always)
  private mutating func commit(
    _ entry: Entry, end: UnsafeMutableRawPointer
  ) throws(PayloadFault) {
    let base = custom.base.unsafelyUnwrapped
    guard try names.insert(base, at: custom.count &+ 1, length: entry.nameLength) else {
      throw PayloadFault(.duplicate)
    }
    custom.count = end - base
  }

  // MARK: Writing

  /// The payload's size before any shortening.
  @inline(__always)
  private var size: Int { 10 &+ custom.count &+ max(0, total &- 1) }

  /// The same as `PayloadTraits.isActivity` for a written payload.
  @inline(__always)
  var isActivity: Bool { isSet(.event) && (isSet(.contentState) || isSet(.dismissalDate)) }

  /// The payload's traits for its push.
  var traits: PayloadTraits {
    @inline(never) get {
      var traits = PayloadTraits()
      traits.hasAps = true
      for index in 0..<order.count {
        let name = order[index].name
        let key = PayloadObject.aps.find(
          UnsafeRawBufferPointer(name))
        if let key { traits.keys |= 1 << UInt32(truncatingIfNeeded: key.number) }
      }
      return traits
    }
  }

  /// A number that no device acts on, which a builder takes all the same.
  var finding: PayloadFinding? {
    @inline(never) get {
      for index in 0..<order.count {
        let key = order[index]
        guard let base = store.base, key == .badge || key.isTime else { continue }
        let piece = pieces[Int(key.rawValue)]
        let number = UnsafeRawBufferPointer(
          start: base + (Int(piece.offset) &+ Int(piece.head)),
          count: Int(piece.length &- piece.head))
        let name = UnsafeRawBufferPointer(key.name)
        if key == .badge {
          if !PayloadCheck.isBadge(number) { return PayloadFinding(.badge, at: 0, name: name) }
          continue
        }
        var finding = PayloadFinding(.time, at: 0, name: name)
        finding.time = PayloadCheck.unlikely(number, key == .dismissalDate ? .timeOrNow : .time)
        if finding.time != nil { return finding }
      }
      return nil
    }
  }

  /// The planned output.
  struct Plan {
    var size: Int
    /// Bytes of text to leave off, without escapes.
    var cut = 0
    fileprivate var key: PayloadKey?
    fileprivate var kept = 0
  }

  /// Decides what to leave off.
  @inline(__always)
  func plan(within limit: Int) throws(PayloadWriteFault) -> Plan {
    let size = size
    if size <= limit { return Plan(size: size) }
    return try shorten(size, to: limit)
  }

  @inline(never)
  private func shorten(_ size: Int, to limit: Int) throws(PayloadWriteFault) -> Plan {
    guard truncation.isAllowed, let key = shortenable else {
      throw PayloadWriteFault(size: size)
    }
    let piece = pieces[Int(key.rawValue)]
    let text = text(piece, key)
    let fixed = size &- text.count &+ truncation.suffixLength
    guard let kept = truncation.keep(text, room: limit &- fixed) else {
      throw PayloadWriteFault(size: size, minimum: fixed)
    }
    return Plan(
      size: fixed &+ kept.length, cut: Int(piece.textBytes) &- kept.rawLength, key: key,
      kept: kept.length)
  }

  /// The text that may be shortened.
  private var shortenable: PayloadKey? {
    if isSet(.alert) { return .alert }
    if isSet(.body), pieces[Int(PayloadKey.body.rawValue)].textStart > 0 { return .body }
    return isSet(.locArgs) && pieces[Int(PayloadKey.locArgs.rawValue)].textStart > 0
      ? .locArgs : nil
  }

  private func isSet(_ key: PayloadKey) -> Bool { length(key) > 0 }

  private func length(_ key: PayloadKey) -> Int { Int(pieces[Int(key.rawValue)].length) }

  /// The piece's text, escaped, between its quotation marks.
  private func text(_ piece: Piece, _ key: PayloadKey) -> UnsafeRawBufferPointer {
    let tail = key == .locArgs ? 2 : 1
    return UnsafeRawBufferPointer(
      start: store.base.unsafelyUnwrapped + Int(piece.offset) + Int(piece.textStart),
      count: Int(piece.length) &- Int(piece.textStart) &- tail)
  }

  /// Writes the payload; `target` has room for the plan's size. It changes nothing but is
  /// mutating, because otherwise the compiler would copy all the pieces to read one.
  @_optimize(speed)
  mutating func write(_ plan: Plan, to target: UnsafeMutableRawPointer) {
    var target = Self.put("{\"aps\":{", target)
    for index in 0..<order.count {
      let key = order[index]
      if key == .alert, alertOrder.count > 0 {
        target = Self.put("\"alert\":{", target)
        for part in 0..<alertOrder.count { target = put(alertOrder[part], plan, target) }
        target = Self.put("},", target - 1)
      } else {
        target = put(key, plan, target)
      }
    }
    // The brace replaces the last comma.
    target = Self.put("}", order.count > 0 ? target - 1 : target)
    if let base = custom.base {
      copyShort(base, to: target, custom.count)
      target += custom.count
    }
    _ = Self.put("}", target)
  }

  /// Writes a piece and a comma.
  @inline(__always)
  private mutating func put(
    _ key: PayloadKey, _ plan: Plan, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let piece = pieces[Int(key.rawValue)]
    if plan.key == key { return putShortened(piece, key, plan, target) }
    copyShort(store.base.unsafelyUnwrapped + Int(piece.offset), to: target, Int(piece.length))
    return Self.put(",", target + Int(piece.length))
  }

  @inline(never)
  private func putShortened(
    _ piece: Piece, _ key: PayloadKey, _ plan: Plan, _ start: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var target = start
    let base = store.base.unsafelyUnwrapped + Int(piece.offset)
    let head = Int(piece.textStart) &+ plan.kept
    target.copyMemory(from: base, byteCount: head)
    target += head
    target = truncation.putSuffix(target)
    return Self.put(key == .locArgs ? "\"]," : "\",", target)
  }

  @inline(__always)
  private static func put(
    _ text: StaticString, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    target.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
    return target + text.utf8CodeUnitCount
  }
}
