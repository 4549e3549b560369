/// How a character joins with its neighbours (UAX #29, Grapheme_Cluster_Break). The last
/// three classes of the table come from Extended_Pictographic and Indic_Conjunct_Break.
enum GraphemeClass: UInt8 {
  case other = 0
  // The numbers that the table uses.
  case control = 1
  case extend, prepend, spacingMark, pictographic, consonant, linker
  // Classes that are known without the table.
  case carriageReturn, lineFeed, joiner, nonJoiner, regional
  case hangulL, hangulV, hangulT, hangulLV, hangulLVT

  init(_ scalar: UInt32) {
    // Everything below is ASCII or joins with nothing, except these.
    if scalar < 0x300 {
      switch scalar {
      case 0x0D: self = .carriageReturn
      case 0x0A: self = .lineFeed
      case 0x00...0x1F, 0x7F...0x9F, 0xAD: self = .control
      case 0xA9, 0xAE: self = .pictographic
      default: self = .other
      }
      return
    }
    switch scalar {
    case 0x1100...0x115F, 0xA960...0xA97C: self = .hangulL
    case 0x1160...0x11A7, 0xD7B0...0xD7C6: self = .hangulV
    case 0x11A8...0x11FF, 0xD7CB...0xD7FB: self = .hangulT
    case 0xAC00...0xD7A3: self = (scalar &- 0xAC00) % 28 == 0 ? .hangulLV : .hangulLVT
    case 0x4E00...0x9FFF: self = .other
    case 0x200C: self = .nonJoiner
    case 0x200D: self = .joiner
    case 0x1F1E6...0x1F1FF: self = .regional
    default: self = Self.lookUp(scalar)
    }
  }

  private static func lookUp(_ scalar: UInt32) -> GraphemeClass {
    var low = 0
    var high = graphemeTable.count
    while low < high {
      let middle = (low &+ high) / 2
      let entry = graphemeTable[middle]
      let first = entry >> 11
      if scalar < first {
        high = middle
      } else if scalar &- first > entry >> 3 & 0xFF {
        low = middle &+ 1
      } else {
        return GraphemeClass(rawValue: UInt8(truncatingIfNeeded: entry & 7)) ?? .other
      }
    }
    return .other
  }
}

/// Finds where one visible character ends and the next begins (extended grapheme clusters,
/// UAX #29). It sees the characters of a text one after another.
struct GraphemeBreaker {
  private enum Run { case none, begun, ready }

  private var last: GraphemeClass?
  /// A pictograph followed by a joiner (GB11).
  private var emoji = Run.none
  /// A consonant followed by a sign that joins it with the next one (GB9c).
  private var conjunct = Run.none
  /// A regional indicator that has no partner yet (GB12, GB13).
  private var hasHalfFlag = false

  /// Whether this character begins a new visible character.
  @inline(never)
  mutating func begins(_ scalar: UInt32) -> Bool {
    let next = GraphemeClass(scalar)
    let isBoundary = last.map { !joins($0, next) } ?? true
    pass(next)
    return isBoundary
  }

  private func joins(_ left: GraphemeClass, _ right: GraphemeClass) -> Bool {
    switch (left, right) {
    case (.other, .other): false
    case (.carriageReturn, .lineFeed): true
    case (.control, _), (.carriageReturn, _), (.lineFeed, _): false
    case (_, .control), (_, .carriageReturn), (_, .lineFeed): false
    case (_, .extend), (_, .linker), (_, .joiner), (_, .nonJoiner), (_, .spacingMark): true
    case (.prepend, _): true
    case (.hangulL, .hangulL), (.hangulL, .hangulV), (.hangulL, .hangulLV), (.hangulL, .hangulLVT):
      true
    case (.hangulLV, .hangulV), (.hangulV, .hangulV), (.hangulLV, .hangulT), (.hangulV, .hangulT):
      true
    case (.hangulLVT, .hangulT), (.hangulT, .hangulT): true
    case (_, .consonant): conjunct == .ready
    case (_, .pictographic): emoji == .ready
    case (.regional, .regional): hasHalfFlag
    default: false
    }
  }

  private mutating func pass(_ next: GraphemeClass) {
    switch next {
    case .pictographic: emoji = .begun
    case .extend, .linker, .nonJoiner: emoji = emoji == .begun ? .begun : .none
    case .joiner: emoji = emoji == .begun ? .ready : .none
    default: emoji = .none
    }
    switch next {
    case .consonant: conjunct = .begun
    case .linker: conjunct = conjunct == .none ? .none : .ready
    case .extend, .joiner: break
    default: conjunct = .none
    }
    hasHalfFlag = next == .regional && !hasHalfFlag
    last = next
  }
}
