/// What is known of the keys in one of the objects that are Apple's.
enum PayloadObject {
  case aps, alert, sound

  /// The names, each behind a letter for its type: `PayloadType` from A on. Those of Live
  /// Activities are known so that nobody is warned of them.
  private var list: WordList {
    switch self {
    case .aps:
      WordList(
        """
        Galert
        Cbadge
        Hsound
        Jcontent-available
        Jmutable-content
        Bcategory
        Bthread-id
        Btarget-content-id
        Kinterruption-level
        Bfilter-criteria
        Drelevance-score
        Eurl-args
        Acontent-state
        Aevent
        Atimestamp
        Astale-date
        Adismissal-date
        Aattributes-type
        Aattributes

        """)
    case .alert:
      WordList(
        """
        Btitle
        Bsubtitle
        Bbody
        Btitle-loc-key
        Etitle-loc-args
        Bsubtitle-loc-key
        Esubtitle-loc-args
        Bloc-key
        Eloc-args
        Iaction-loc-key
        Blaunch-image
        Asummary-arg
        Asummary-arg-count

        """)
    case .sound:
      WordList(
        """
        Ccritical
        Bname
        Dvolume

        """)
    }
  }

  /// The number of `content-available` in `aps`.
  static var wakingKey: UInt32 { 3 }

  /// The key of that number; nil behind the last.
  func key(_ number: Int) -> (name: UnsafeRawBufferPointer, type: PayloadType)? {
    let word = list[number]
    guard word.count > 0 else { return nil }
    return (
      UnsafeRawBufferPointer(rebasing: word[1...]),
      PayloadType(rawValue: word[0] &- 0x41) ?? .any
    )
  }

  /// The number and the type of a key.
  @inline(never)
  func find(_ name: borrowing KeyName) -> (number: Int, type: PayloadType)? {
    var number = 0
    while let key = key(number) {
      if name.equals(key.name) { return (number, key.type) }
      number &+= 1
    }
    return nil
  }

  /// The key that was probably meant.
  @inline(never)
  func nearest(to name: borrowing KeyName) -> UnsafeRawBufferPointer? {
    var best: UnsafeRawBufferPointer?
    var least = name.count < 4 ? 2 : 3
    var number = 0
    while let key = key(number) {
      let distance = name.distance(to: key.name)
      if distance < least {
        least = distance
        best = key.name
      }
      number &+= 1
    }
    return best
  }
}

/// A key's name with its escapes resolved. One longer than any that is known has no bytes.
struct KeyName {
  private var bytes = InlineArray<32, UInt8>(repeating: 0)
  private(set) var count = 0

  @inline(never)
  init(_ text: UnsafeRawBufferPointer) {
    var index = 0
    while index < text.count {
      var byte = text[index]
      if byte == 0x5C {
        guard let escape = try? JSONEscape.read(text, at: index), escape.scalar < 0x80 else {
          count = 0
          return
        }
        byte = UInt8(truncatingIfNeeded: escape.scalar)
        index &+= escape.length
      } else {
        index &+= 1
      }
      guard count < bytes.count else {
        count = 0
        return
      }
      bytes[count] = byte
      count &+= 1
    }
  }

  @inline(never)
  func equals(_ name: UnsafeRawBufferPointer) -> Bool {
    guard count == name.count else { return false }
    for index in 0..<count where bytes[index] != name[index] { return false }
    return true
  }

  func equals(_ name: StaticString) -> Bool {
    equals(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
  }

  /// How many characters have to be changed, put in or left out to make one of the other.
  @inline(never)
  func distance(to name: UnsafeRawBufferPointer) -> Int {
    guard count > 0, name.count < 32 else { return .max }
    var row = InlineArray<33, UInt8>(repeating: 0)
    for index in 0..<33 { row[index] = UInt8(truncatingIfNeeded: index) }
    for outer in 0..<name.count {
      var diagonal = row[0]
      row[0] = UInt8(truncatingIfNeeded: outer &+ 1)
      for inner in 0..<count {
        let changed = diagonal &+ (bytes[inner] == name[outer] ? 0 : 1)
        diagonal = row[inner &+ 1]
        row[inner &+ 1] = min(changed, min(diagonal, row[inner]) &+ 1)
      }
    }
    return Int(row[count])
  }
}
