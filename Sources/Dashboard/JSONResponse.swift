import JSON
import NIOHTTP1

/// A JSON response.
enum JSONResponse {
  static func make(_ json: String, status: HTTPResponseStatus = .ok) -> Response {
    Response(
      status: status, headers: ["content-type": "application/json"],
      body: .whole(Array(json.utf8) + [UInt8(ascii: "\n")]))
  }

  static func fault(_ status: HTTPResponseStatus, _ message: String) -> Response {
    make("{\"error\":\(JSONLiteral.string(message))}", status: status)
  }
}
