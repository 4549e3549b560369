import NIOHTTP2

/// Answers that have not left yet.
struct PushAnswers {
  private var due: [(HTTP2StreamID, PushAnswer)] = []
  /// Those whose time has not come.
  var late = 0
  /// The end of a batch is set.
  var isTimed = false

  var waiting: Int { due.count + late }

  mutating func add(_ id: HTTP2StreamID, _ answer: PushAnswer) { due.append((id, answer)) }

  mutating func take() -> [(HTTP2StreamID, PushAnswer)] {
    defer { due.removeAll() }
    return due
  }

  mutating func forget() {
    due = []
    late = 0
  }
}
