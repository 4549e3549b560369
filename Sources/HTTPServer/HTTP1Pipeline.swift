import NIOCore
import NIOHTTP1

extension ChannelPipeline.SynchronousOperations {
  /// Adds what reads requests of HTTP/1 and writes their answers. Offers of an upgrade are ignored.
  /// `inTurn`: a request comes when the one before it is answered.
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
  /// The client waits for a word before it sends the body (RFC 9110, 10.1.1); HTTP/1.0 does not
  /// know that.
  package var expectsContinue: Bool {
    version != .http1_0 && headers["expect"].contains { $0.lowercased() == "100-continue" }
  }

  /// What it is for.
  package func target() throws(RequestTarget.Fault) -> RequestTarget {
    try RequestTarget(
      uri, hosts: headers["host"].map(HTTPHeaders.trimmed), needsHost: version != .http1_0)
  }
}

extension HTTPHeaders {
  /// Without the blanks around a value, which the parser leaves behind it (RFC 9110, 5.5).
  package static func trimmed(_ value: String) -> String {
    func isBlank(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    guard isBlank(value.utf8.last) || isBlank(value.utf8.first) else { return value }
    var bytes = Substring(value).utf8
    while isBlank(bytes.first) { bytes.removeFirst() }
    while isBlank(bytes.last) { bytes.removeLast() }
    return String(Substring(bytes))
  }
}
