/// The reason why the queue, a file or a service is unusable.
package struct RelayFault: Error, CustomStringConvertible {
  package var description: String
  /// The file system is full; a smaller change may still fit.
  var lacksRoom = false
  /// Another attempt cannot succeed.
  package var isFinal = false

  package init(_ description: String, lacksRoom: Bool = false, isFinal: Bool = false) {
    (self.description, self.lacksRoom, self.isFinal) = (description, lacksRoom, isFinal)
  }
}
