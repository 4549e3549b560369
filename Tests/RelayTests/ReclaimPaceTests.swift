import Foundation
import Testing

@testable import Relay

/// How the workers of a process share their looks for others that are gone.
@Suite struct ReclaimPaceTests {
  @Test func aLongLookIsFollowedByARest() {
    let pace = ReclaimPace()
    #expect(
      pace.run {
        usleep(50_000)
        return 3
      } == 3)
    var count = 0
    _ = pace.run {
      count += 1
      return 0
    }
    #expect(count == 0)
  }

  @Test func aShortLookIsSoonFollowedByAnother() {
    let (pace, limit) = (ReclaimPace(), Date(timeIntervalSinceNow: 20))
    var count = 0
    while count < 3, Date() < limit {
      _ = pace.run {
        count += 1
        return 0
      }
    }
    #expect(count == 3)
  }

  @Test func aFailureEndsTheLook() {
    let (pace, limit) = (ReclaimPace(), Date(timeIntervalSinceNow: 20))
    #expect(throws: RelayFault.self) { try pace.run { throw RelayFault("no queue") } }
    var count = 0
    while count == 0, Date() < limit { count = pace.run { 1 } }
    #expect(count == 1)
  }
}
