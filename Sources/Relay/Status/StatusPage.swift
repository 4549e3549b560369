/// The files of the status page. It polls /metrics and /readyz, and is read-only.
enum StatusPage {
  private static let files: [String: (type: String, bytes: [UInt8])] = [
    "/": ("text/html", PackageResources.status_html),
    "/status.css": ("text/css", PackageResources.status_css),
    "/status.js": ("text/javascript", PackageResources.status_js),
    "/metrics.js": ("text/javascript", PackageResources.metrics_js),
  ]

  static func response(_ path: String) -> StatusServer.Response? {
    files[path].map {
      StatusServer.Response(
        type: "\($0.type); charset=utf-8", body: String(decoding: $0.bytes, as: UTF8.self))
    }
  }
}
