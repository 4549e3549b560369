import JSON
import NIOHTTP1

extension Response {
  static func json(_ json: String, status: Int = 200) -> Response {
    Response(
      status: HTTPResponseStatus(statusCode: status),
      headers: ["content-type": "application/json"],
      body: .whole(Array(json.utf8) + [UInt8(ascii: "\n")]))
  }

  static func fault(_ status: Int, _ message: String) -> Response {
    json("{\"error\":\(JSONLiteral.string(message))}", status: status)
  }
}
