/// The files of the status page.
enum StatusPage {
  private static let files: [String: (type: String, bytes: [UInt8])] = [
    "/": ("text/html", PackageResources.status_html),
    "/status.css": ("text/css", PackageResources.status_css),
    "/status.js": ("text/javascript", PackageResources.status_js),
    "/elements.js": ("text/javascript", PackageResources.elements_js),
    "/campaigns.js": ("text/javascript", PackageResources.campaigns_js),
    "/panels.js": ("text/javascript", PackageResources.panels_js),
    "/actions.js": ("text/javascript", PackageResources.actions_js),
  ]

  static func response(_ path: String) -> StatusServer.Response? {
    files[path].map {
      StatusServer.Response(
        type: "\($0.type); charset=utf-8", body: String(decoding: $0.bytes, as: UTF8.self))
    }
  }
}
