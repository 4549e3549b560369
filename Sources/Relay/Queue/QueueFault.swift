/// Why the queue cannot be used.
package struct QueueFault: Error, CustomStringConvertible {
  package var description: String
  /// There is no room for it; there may be for less.
  var lacksRoom = false

  package init(description: String, lacksRoom: Bool = false) {
    self.description = description
    self.lacksRoom = lacksRoom
  }
}
