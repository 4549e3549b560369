/// A payload in the making. What is set is kept as the JSON it will be, so that writing
/// the payload is copying pieces one behind the other.
struct PayloadBuilder: ~Copyable {
  /// Where the piece of a key lies, `"badge":3`.
  private struct Piece {
    var offset: UInt32 = 0
    /// 0: the key is not set.
    var length: UInt32 = 0
    var capacity: UInt32 = 0
    /// Of the text that may be shortened: where it begins, from the piece's start, and
    /// how many bytes it has without escapes.
    var textStart: UInt32 = 0
    var textBytes: UInt32 = 0
  }

  let limit: Int
  private let truncation: Truncation

  private var store = ByteStore()
  private var pieces = InlineArray<24, Piece>(repeating: Piece())
  /// The keys of `aps`, and those of the alert, in the order in which they were first set.
  private var order = KeyOrder()
  private var alertOrder = KeyOrder()
  /// `,"name":value` for each custom key.
  private var custom = ByteStore()
  private var names = KeySet()

  init(limit: Int, truncation: consuming Truncation) {
    self.limit = limit
    self.truncation = truncation
  }

  mutating func reset() {
    for index in 0..<pieces.count { pieces[index] = Piece() }
    order.removeAll()
    alertOrder.removeAll()
    store.count = 0
    removeCustom()
  }

  // MARK: Apple's keys

  @inline(never)
  mutating func set(
    _ key: PayloadKey, string: UnsafeRawBufferPointer
  ) throws(PayloadFault) {
    try checkAlert(key)
    let measured = try JSONText.measure(string)
    guard measured >= string.count, measured < 1 << 30 else { throw PayloadFault(.tooLarge) }
    let head = key.name.utf8CodeUnitCount &+ 4
    var piece = try piece(key, length: head &+ measured &+ 1)
    var target = begin(key, piece)
    target.storeBytes(of: 0x22, as: UInt8.self)
    target = JSONText.write(string, measured: measured, to: target + 1)
    target.storeBytes(of: 0x22, as: UInt8.self)
    piece.textStart = UInt32(truncatingIfNeeded: head)
    piece.textBytes = UInt32(truncatingIfNeeded: string.count)
    commit(key, piece)
  }

  /// An array of strings; `string` hands out the one at an index.
  @inline(never)
  mutating func set(
    _ key: PayloadKey, count: Int, string: (Int) -> UnsafeRawBufferPointer
  ) throws(PayloadFault) {
    try checkAlert(key)
    let head = key.name.utf8CodeUnitCount &+ 3
    var length = head &+ 2 &+ max(0, count &- 1)
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
    var piece = try piece(key, length: length)
    let start = begin(key, piece)
    var target = start
    target.storeBytes(of: 0x5B, as: UInt8.self)
    target += 1
    for index in 0..<count {
      if index > 0 {
        target.storeBytes(of: 0x2C, as: UInt8.self)
        target += 1
      }
      target.storeBytes(of: 0x22, as: UInt8.self)
      target += 1
      let text = string(index)
      piece.textStart = UInt32(truncatingIfNeeded: head &+ (target - start))
      piece.textBytes = UInt32(truncatingIfNeeded: text.count)
      // Plain copying is for text without escapes, which its length does not tell here.
      target = JSONText.write(text, measured: -1, to: target)
      target.storeBytes(of: 0x22, as: UInt8.self)
      target += 1
    }
    target.storeBytes(of: 0x5D, as: UInt8.self)
    commit(key, piece)
  }

  @inline(never)
  mutating func set(_ key: PayloadKey, integer: Int64) throws(PayloadFault) {
    try checkAlert(key)
    var piece = try piece(
      key, length: key.name.utf8CodeUnitCount &+ 3 &+ NumberText.longest)
    let start = begin(key, piece)
    let end = NumberText.write(integer, to: start)
    finish(&piece, key, end - start)
  }

  @inline(never)
  mutating func set(_ key: PayloadKey, number: Double) throws(PayloadFault) {
    guard number.isFinite else { throw PayloadFault(.notANumber) }
    try checkAlert(key)
    var piece = try piece(
      key, length: key.name.utf8CodeUnitCount &+ 3 &+ NumberText.longest)
    let start = begin(key, piece)
    let end = NumberText.write(number, to: start)
    finish(&piece, key, end - start)
  }

  @inline(never)
  mutating func setNull(_ key: PayloadKey) throws(PayloadFault) {
    try checkAlert(key)
    let piece = try piece(key, length: key.name.utf8CodeUnitCount &+ 7)
    _ = Self.put("null", begin(key, piece))
    commit(key, piece)
  }

  /// A sound that is played whatever the device is set to.
  @inline(never)
  mutating func setCriticalSound(
    _ name: UnsafeRawBufferPointer, volume: Double
  ) throws(PayloadFault) {
    guard volume >= 0, volume <= 1 else { throw PayloadFault(.range) }
    let measured = try JSONText.measure(name)
    guard measured < 1 << 30 else { throw PayloadFault(.tooLarge) }
    var piece = try piece(.sound, length: 48 &+ measured &+ NumberText.longest)
    let start = begin(.sound, piece)
    var target = Self.put("{\"critical\":1,\"name\":\"", start)
    target = JSONText.write(name, measured: measured, to: target)
    target = Self.put("\",\"volume\":", target)
    target = Self.put("}", NumberText.write(volume, to: target))
    finish(&piece, .sound, target - start)
  }

  /// Takes a key away; with the alert goes all that is in it.
  @inline(never)
  mutating func remove(_ key: PayloadKey) {
    if key == .alert {
      for index in 0..<alertOrder.count { clear(alertOrder[index]) }
      alertOrder.removeAll()
    } else if key.isInAlert {
      guard isSet(key) else { return }
      clear(key)
      alertOrder.remove(key)
      // An alert without parts is none.
      if alertOrder.count == 0 { order.remove(.alert) }
      return
    }
    clear(key)
    order.remove(key)
  }

  private mutating func clear(_ key: PayloadKey) { pieces[Int(key.rawValue)].length = 0 }

  private func checkAlert(_ key: PayloadKey) throws(PayloadFault) {
    if key == .alert, alertOrder.count > 0 { throw PayloadFault(.alertHasParts) }
    if key.isInAlert, pieces[Int(PayloadKey.alert.rawValue)].length > 0 {
      throw PayloadFault(.alertIsText)
    }
  }

  /// Room for the key's piece: its old one where that is large enough. Nothing is changed
  /// until `commit`, but for the memory that a larger one takes.
  @inline(never)
  private mutating func piece(_ key: PayloadKey, length: Int) throws(PayloadFault) -> Piece {
    var piece = pieces[Int(key.rawValue)]
    guard length < 1 << 30 else { throw PayloadFault(.tooLarge) }
    if length > Int(piece.capacity) {
      // One that grows may grow again: then it does so half as often each time.
      let spare = piece.capacity > 0 ? length / 2 : 0
      _ = try store.room(for: length &+ spare)
      piece.offset = UInt32(truncatingIfNeeded: store.count)
      piece.capacity = UInt32(truncatingIfNeeded: length &+ spare)
      store.count &+= length &+ spare
    }
    piece.length = UInt32(truncatingIfNeeded: length)
    piece.textStart = 0
    piece.textBytes = 0
    return piece
  }

  /// Writes `"key":` and returns where the value goes.
  @inline(never)
  private func begin(_ key: PayloadKey, _ piece: Piece) -> UnsafeMutableRawPointer {
    // There is memory where there is a piece.
    let base = store.base.unsafelyUnwrapped + Int(piece.offset)
    base.storeBytes(of: 0x22, as: UInt8.self)
    let name = key.name
    let end = Self.put(name, base + 1)
    end.storeBytes(of: 0x22, as: UInt8.self)
    end.storeBytes(of: 0x3A, toByteOffset: 1, as: UInt8.self)
    return end + 2
  }

  private mutating func finish(_ piece: inout Piece, _ key: PayloadKey, _ valueLength: Int) {
    piece.length = UInt32(
      truncatingIfNeeded: key.name.utf8CodeUnitCount &+ 3 &+ valueLength)
    commit(key, piece)
  }

  @inline(never)
  private mutating func commit(_ key: PayloadKey, _ piece: Piece) {
    let isNew = pieces[Int(key.rawValue)].length == 0
    pieces[Int(key.rawValue)] = piece
    guard isNew else { return }
    if key.isInAlert {
      if alertOrder.count == 0 { order.append(.alert) }
      alertOrder.append(key)
    } else {
      order.append(key)
    }
  }

  // MARK: Custom keys

  @inline(never)
  mutating func add(
    _ name: UnsafeRawBufferPointer, string: UnsafeRawBufferPointer
  ) throws(PayloadFault) {
    let measured = try JSONText.measure(string)
    let entry = try beginCustom(name, valueLength: measured &+ 2)
    entry.value.storeBytes(of: 0x22, as: UInt8.self)
    let end = JSONText.write(string, measured: measured, to: entry.value + 1)
    end.storeBytes(of: 0x22, as: UInt8.self)
    try commit(entry, end: end + 1)
  }

  @inline(never)
  mutating func add(_ name: UnsafeRawBufferPointer, integer: Int64) throws(PayloadFault) {
    let entry = try beginCustom(name, valueLength: NumberText.longest)
    try commit(entry, end: NumberText.write(integer, to: entry.value))
  }

  @inline(never)
  mutating func add(_ name: UnsafeRawBufferPointer, number: Double) throws(PayloadFault) {
    guard number.isFinite else { throw PayloadFault(.notANumber) }
    let entry = try beginCustom(name, valueLength: NumberText.longest)
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
      // Within the payload's own object.
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
    /// With its quotation marks, so that an empty name has a length too.
    var nameLength: Int
    var value: UnsafeMutableRawPointer
  }

  /// Writes `,"name":` behind what there is.
  @inline(never)
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

  @inline(never)
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

  /// The payload's size, unshortened.
  var size: Int {
    var size = 10 &+ custom.count &+ max(0, order.count &- 1)
    for index in 0..<order.count {
      let key = order[index]
      if key == .alert, alertOrder.count > 0 {
        size &+= 10 &+ max(0, alertOrder.count &- 1)
        for part in 0..<alertOrder.count { size &+= length(alertOrder[part]) }
      } else {
        size &+= length(key)
      }
    }
    return size
  }

  /// What will be written, and how.
  struct Plan {
    var size: Int
    /// Bytes of text that were left off, without escapes.
    var cut = 0
    fileprivate var key: PayloadKey?
    fileprivate var kept = 0
  }

  /// Decides what has to be left off.
  func plan() throws(PayloadWriteFault) -> Plan {
    let size = size
    if size <= limit { return Plan(size: size) }
    return try shorten(size)
  }

  @inline(never)
  private func shorten(_ size: Int) throws(PayloadWriteFault) -> Plan {
    guard truncation.isAllowed, let key = shortenable else {
      throw PayloadWriteFault(size: size)
    }
    let piece = pieces[Int(key.rawValue)]
    let text = text(piece, key)
    let fixed = size &- text.count &+ truncation.suffixLength
    guard let kept = truncation.keep(text, room: limit &- fixed) else {
      throw PayloadWriteFault(size: size, shortest: fixed)
    }
    return Plan(
      size: fixed &+ kept.length, cut: Int(piece.textBytes) &- kept.rawLength, key: key,
      kept: kept.length)
  }

  /// The text that may be shortened.
  private var shortenable: PayloadKey? {
    if isSet(.alert) { return .alert }
    if isSet(.body) { return .body }
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

  /// Writes the payload; `target` has room for the plan's size.
  func write(_ plan: Plan, to target: UnsafeMutableRawPointer) {
    var target = Self.put("{\"aps\":{", target)
    for index in 0..<order.count {
      if index > 0 { target = Self.put(",", target) }
      let key = order[index]
      guard key == .alert, alertOrder.count > 0 else {
        target = put(key, plan, target)
        continue
      }
      target = Self.put("\"alert\":{", target)
      for part in 0..<alertOrder.count {
        if part > 0 { target = Self.put(",", target) }
        target = put(alertOrder[part], plan, target)
      }
      target = Self.put("}", target)
    }
    target = Self.put("}", target)
    if let base = custom.base, custom.count > 0 {
      target.copyMemory(from: base, byteCount: custom.count)
      target += custom.count
    }
    _ = Self.put("}", target)
  }

  @inline(__always)
  private func put(
    _ key: PayloadKey, _ plan: Plan, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let piece = pieces[Int(key.rawValue)]
    let base = store.base.unsafelyUnwrapped + Int(piece.offset)
    if plan.key == key { return putShortened(piece, key, plan, target) }
    target.copyMemory(from: base, byteCount: Int(piece.length))
    return target + Int(piece.length)
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
    return Self.put(key == .locArgs ? "\"]" : "\"", target)
  }

  @inline(__always)
  private static func put(
    _ text: StaticString, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    target.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
    return target + text.utf8CodeUnitCount
  }
}
