/// Why the queue cannot be used.
package struct QueueFault: Error, CustomStringConvertible {
  package var description: String

  package init(description: String) { self.description = description }
}
