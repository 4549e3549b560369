import CAPNS

/// The pauses before a notification is retried, such as "1,2,4". The last one holds for all further
/// tries.
struct RetrySchedule {
  private var pauses = InlineArray<16, Seconds>(repeating: 0)
  private var count = 0

  private static var maxCount: Int { 16 }
  /// A day.
  private static var maxPause: Seconds { 86_400 }

  /// Reads the option of that name. NULL is the usual schedule.
  init(
    _ text: UnsafePointer<CChar>?, _ name: StaticString, usual: StaticString
  ) throws(Failure) {
    let text =
      text ?? UnsafeRawPointer(usual.utf8Start).assumingMemoryBound(to: CChar.self)
    var place = 0
    while true {
      guard count < Self.maxCount else {
        throw Self.refusal(name, " has more than 16 pauses, at ", place)
      }
      while text[place] == 0x20 { place &+= 1 }
      let first = place
      var pause: Seconds = 0
      while text[place] >= 0x30, text[place] <= 0x39, pause <= Self.maxPause {
        pause = pause &* 10 &+ Seconds(UInt8(bitPattern: text[place]) &- 0x30)
        place &+= 1
      }
      guard pause >= 1, pause <= Self.maxPause else {
        throw Self.refusal(name, " has no number of seconds from 1 to 86400 at ", first)
      }
      pauses[count] = pause
      count &+= 1
      while text[place] == 0x20 { place &+= 1 }
      if text[place] == 0 { return }
      guard text[place] == 0x2C else { throw Self.refusal(name, " has no comma at ", place) }
      place &+= 1
    }
  }

  /// The pause after `tries` earlier ones.
  subscript(tries: Int) -> Seconds { pauses[max(min(tries, count &- 1), 0)] }

  private static func refusal(
    _ name: StaticString, _ what: StaticString, _ place: Int
  ) -> Failure {
    Failure(APNS_ERR_ARGUMENT) {
      $0.append(name)
      $0.append(what)
      $0.append(place)
    }
  }
}
