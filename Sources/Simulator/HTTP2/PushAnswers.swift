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

  /// In the order of their streams: HTTP/2 finds those fastest, and whoever opens many at once
  /// may end them in any.
  mutating func take() -> [(HTTP2StreamID, PushAnswer)] {
    defer { due.removeAll() }
    due.sort { $0.0 < $1.0 }
    return due
  }

  mutating func forget() {
    due = []
    late = 0
  }
}
