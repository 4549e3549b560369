/// The `traceparent` of W3C Trace Context: version, trace, parent and flags. The relay hands it on.
package enum TraceParent {
  package static let fault =
    "is not a traceparent such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  /// nil if it is invalid.
  package static func valid(_ text: String) -> String? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [2, 32, 16, 2], parts[0] != "ff",
      text.utf8.allSatisfy({
        (0x30...0x39).contains($0) || (0x61...0x66).contains($0) || $0 == 0x2D
      }),
      parts[1...2].allSatisfy({ $0.contains { $0 != "0" } })
    else { return nil }
    return text
  }
}
