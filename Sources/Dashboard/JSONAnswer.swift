import Gateway
import HTTPTypes
import HummingbirdCore
import NIOCore

/// A response that is JSON.
enum JSONAnswer {
  static func make(_ json: String, status: HTTPResponse.Status = .ok) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: json + "\n")))
  }

  static func fault(_ status: HTTPResponse.Status, _ message: String) -> Response {
    make("{\"error\":\(JSONText.string(message))}", status: status)
  }
}
