/// A durable queue. Every call may come from any thread and is atomic: after it has returned, its
/// changes survive kill -9. Times are UNIX milliseconds.
package protocol QueueEngine: EntryQueue, CampaignStore, DeadLetterStore, BadTokenStore,
  AppStateStore, ProviderTokenStore, ConnectionQuotaStore, ReaderStore, QueueWatching
{
  /// Warnings for the operator, such as that the queue is lost when its server stops.
  var warnings: [String] { get }
  /// Throws if the queue cannot be read or written, or accepts no more entries.
  func check() throws

  /// Called regularly to keep space for the outcomes of held entries. Reports no error: the call
  /// that needs the space does.
  func keepRoom()
  /// Whether that does anything.
  var keepsRoom: Bool { get }
  /// Whether calls wait for another program that blocks the queue. The wait is limited.
  var isHeldUp: Bool { get }
  /// Shortens all waits from now on, because the relay stops.
  func hurry()
}

extension QueueEngine {
  package var warnings: [String] { [] }
  package func keepRoom() {}
  package var keepsRoom: Bool { false }
  package var isHeldUp: Bool { false }
  package func hurry() {}
}
