import CDashboard

/// A file of the page.
struct PageFile: Sendable {
  var path: String
  var type: String
  var bytes: [UInt8]

  static let all: [PageFile] = {
    var count = 0
    return UnsafeBufferPointer(start: dashboard_files(&count), count: count).map {
      PageFile(
        path: String(cString: $0.path), type: String(cString: $0.type),
        bytes: [UInt8](UnsafeBufferPointer(start: $0.bytes, count: $0.size)))
    }
  }()

  var response: Response {
    Response(status: .ok, headers: ["content-type": type], body: .whole(bytes))
  }
}
