import NIOCore
import NIOHTTP1

extension ChannelPipeline.SynchronousOperations {
  /// Adds the handlers that parse HTTP/1 requests and write responses. Offers to upgrade are
  /// ignored. `inTurn` delivers a request only after the response to the one before.
  package func addHTTP1(inTurn: Bool = false, answersFaults: Bool = false) throws {
    let place = ParserPlace()
    try addHandler(UpgradeFilter(place))
    try configureHTTPServerPipeline(
      withPipeliningAssistance: inTurn, withErrorHandling: answersFaults)
    let parser = try handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
    try addHandler(ParserWatch(place), position: .after(parser))
  }
}

extension HTTPRequestHead {
  /// The client waits for 100 Continue before it sends the body (RFC 9110, 10.1.1), which HTTP/1.0
  /// does not have.
  package var expectsContinue: Bool {
    version != .http1_0 && headers["expect"].contains { $0.lowercased() == "100-continue" }
  }

  /// The path and host of the request.
  package func target() throws(RequestTarget.Fault) -> RequestTarget {
    try RequestTarget(
      uri, hosts: headers["host"].map(HTTPHeaders.trimmed), needsHost: version != .http1_0)
  }
}

extension HTTPHeaders {
  /// Removes white space around a value, which the parser leaves at its end (RFC 9110, 5.5).
  package static func trimmed(_ value: String) -> String {
    func isBlank(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    guard isBlank(value.utf8.last) || isBlank(value.utf8.first) else { return value }
    var bytes = Substring(value).utf8
    while isBlank(bytes.first) { bytes.removeFirst() }
    while isBlank(bytes.last) { bytes.removeLast() }
    return String(Substring(bytes))
  }
}
