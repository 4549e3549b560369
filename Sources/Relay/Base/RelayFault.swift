/// The reason why the queue, a file or a service is unusable.
package struct RelayFault: Error, CustomStringConvertible {
  package var description: String
  /// The file system is full; a smaller change may still fit.
  var lacksRoom = false

  package init(_ description: String, lacksRoom: Bool = false) {
    (self.description, self.lacksRoom) = (description, lacksRoom)
  }
}
