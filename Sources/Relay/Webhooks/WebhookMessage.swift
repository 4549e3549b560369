import COpenSSL
import Foundation
import JSON

/// A batch of outcomes as a request, signed as Standard Webhooks says.
struct WebhookMessage {
  /// The same for the same batch from any relay.
  let id: String
  let body: String

  /// `mark` tells queues apart, because the numbers of each begin with 1.
  init(_ batch: WebhookBatch, app: String, mark: String) {
    let digest = SHA256Digest.of(Array("\(mark) \(batch.from) \(batch.last)".utf8))
    id = "msg_\(Array(digest.prefix(16)).hex)"
    let outcomes = batch.rows.map { $0.json(app: app) }.joined(separator: ",")
    body = """
      {"type":"outcomes","timestamp":"\(TimeText.of(batch.rows.last?.at ?? 0))",\
      "data":{"app":\(JSONLiteral.string(app)),"outcomes":[\(outcomes)]}}
      """
  }

  /// `seconds` is the UNIX time of this attempt.
  func fields(at seconds: Int64, _ secrets: [[UInt8]]) -> [(name: String, value: String)] {
    let signed = Array("\(id).\(seconds).\(body)".utf8)
    let signatures = secrets.map { "v1,\(Self.signature(of: signed, $0))" }
    return [
      ("content-type", "application/json"), ("webhook-id", id), ("webhook-timestamp", "\(seconds)"),
      ("webhook-signature", signatures.joined(separator: " ")),
    ]
  }

  private static func signature(of bytes: [UInt8], _ secret: [UInt8]) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    var count: CUnsignedInt = 0
    _ = HMAC(EVP_sha256(), secret, CInt(secret.count), bytes, bytes.count, &digest, &count)
    return Data(digest).base64EncodedString()
  }
}
