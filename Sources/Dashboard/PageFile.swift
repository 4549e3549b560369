/// A file of the page.
struct PageFile: Sendable {
  var path: String
  var type: String
  var bytes: [UInt8]

  static let all = [
    PageFile(path: "/", type: "text/html; charset=utf-8", bytes: PackageResources.page_html),
    PageFile(path: "/page.css", type: "text/css; charset=utf-8", bytes: PackageResources.page_css),
    PageFile(path: "/icon.svg", type: "image/svg+xml", bytes: PackageResources.icon_svg),
    script("/page.js", PackageResources.page_js),
    script("/elements.js", PackageResources.elements_js),
    script("/lockscreen.js", PackageResources.lockscreen_js),
    script("/inspector.js", PackageResources.inspector_js),
    script("/stream.js", PackageResources.stream_js),
    script("/chart.js", PackageResources.chart_js),
    script("/devices.js", PackageResources.devices_js),
    script("/activities.js", PackageResources.activities_js),
    script("/channels.js", PackageResources.channels_js),
    script("/deliveries.js", PackageResources.deliveries_js),
    script("/connections.js", PackageResources.connections_js),
    script("/faults.js", PackageResources.faults_js),
    script("/repeat.js", PackageResources.repeat_js),
    script("/address.js", PackageResources.address_js),
    script("/dump.js", PackageResources.dump_js),
    script("/keys.js", PackageResources.keys_js),
    script("/pager.js", PackageResources.pager_js),
    script("/payload.js", PackageResources.payload_js),
    script("/reasons.js", PackageResources.reasons_js),
    script("/search.js", PackageResources.search_js),
    script("/seen.js", PackageResources.seen_js),
  ]

  private static func script(_ path: String, _ bytes: [UInt8]) -> PageFile {
    PageFile(path: path, type: "text/javascript; charset=utf-8", bytes: bytes)
  }

  var response: Response {
    Response(status: .ok, headers: ["content-type": type], body: .whole(bytes))
  }
}
