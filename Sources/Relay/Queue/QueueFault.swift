/// The reason why the queue is unusable.
package struct QueueFault: Error, CustomStringConvertible {
  package var description: String
  /// The file system is full; a smaller change may still fit.
  var lacksRoom = false

  package init(description: String, lacksRoom: Bool = false) {
    self.description = description
    self.lacksRoom = lacksRoom
  }
}
