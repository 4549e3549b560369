import CAPNS

/// The user data of a notification, and where it went.
struct UserDatum {
  enum Place { case kept, handedOut, released }
  let stage: Unmanaged<Stage>
  var place = Place.kept
}

/// How the program takes outcomes.
enum Habit {
  case often
  case seldom
  /// Not before the session has closed, or not at all.
  case never
}

extension Stage {
  /// Frees user data for the session.
  static var release: apns_user_data_free_t {
    {
      guard let datum = $0?.assumingMemoryBound(to: UserDatum.self) else { return }
      let stage = datum.pointee.stage.takeUnretainedValue()
      stage.released(datum - stage.userData)
    }
  }

  func give(_ number: Int) -> UnsafeMutableRawPointer {
    (userData + number).initialize(to: UserDatum(stage: .passUnretained(self)))
    return UnsafeMutableRawPointer(userData + number)
  }

  var outcomes: apns_outcomes_t { apns_outcomes_t(UInt32(given.session.outcomes)) }
  /// The outcomes come by the option `on_outcome`.
  func hear() {
    given.session.outcome_context = Unmanaged.passUnretained(self).toOpaque()
    given.session.on_outcome = {
      guard let event = $0, let context = $1 else { return }
      let stage = Unmanaged<Stage>.fromOpaque(context).takeUnretainedValue()
      if event.pointee.size != MemoryLayout<apns_event_t>.size { stage.violate("an odd event") }
      stage.met(.calledBack)
      stage.told(event.pointee)
    }
  }

  var isCalledBack: Bool { given.session.on_outcome != nil }
  var isReleasing: Bool { given.session.user_data_free != nil }
}

extension Witness {
  /// The notification whose user data comes back; nil if it belongs to none.
  func takeBack(_ memory: UnsafeMutableRawPointer?) -> Int? {
    guard let memory, memory >= UnsafeMutableRawPointer(userData),
      memory < UnsafeMutableRawPointer(userData + taken)
    else {
      violate("an event with the user data of nobody")
      return nil
    }
    let number = memory.assumingMemoryBound(to: UserDatum.self) - userData
    if userData[number].place == .released {
      violate("event of \(number) with user data that was freed")
    }
    userData[number].place = .handedOut
    return number
  }

  /// The session frees the user data of a notification.
  func checkRelease(_ number: Int) {
    guard number >= 0, number < taken else { return violate("the data of nobody is freed") }
    if userData[number].place != .kept { violate("\(number) has no data, and it is freed") }
    userData[number].place = .released
    if isBeingFreed { return }
    if outcomes == APNS_OUTCOMES_EACH {
      violate("the user data of \(number) is freed before its event")
    }
    say("\(number) is forgotten")
    if !wasAccepted(number) { violate("\(number) is lost") }
    guard outcomes == APNS_OUTCOMES_ALL else { return }
    met(.forgotten)
    forgotten += 1
    noteForgotten(number)
  }

  /// The session is gone: it has handed out or freed the data of each notification.
  func checkUserData() {
    guard violation == nil, isReleasing else { return }
    for number in 0..<taken where userData[number].place == .kept {
      violate("the data of \(number) is neither handed out nor freed")
    }
  }
}
