import Testing

@testable import Relay

/// Lookups find what a look at every app finds.
@Suite struct ServedAppsTests {
  private static let words = [
    "a", "b", "é", "voip", "voip-ptt", "complication", "pushkit", "fileprovider", "location-query",
    "push-type", "liveactivity", "",
  ]

  private static func topic() -> String {
    (0...Int.random(in: 0...3)).map { _ in words.randomElement()! }.joined(separator: ".")
  }

  private static func apps() -> [AppConfiguration] {
    (0..<Int.random(in: 0...12)).map { number in
      var app = AppConfiguration()
      app.name = "app-\(number)"
      app.topic = Int.random(in: 0..<8) == 0 ? nil : topic()
      return app
    }
  }

  private static func isDerived(_ topic: String, from base: String) -> Bool {
    let ends = ["voip", "voip-ptt", "complication", "pushkit.fileprovider", "location-query"]
    return ends.contains { topic == "\(base).\($0)" } || topic.hasPrefix("\(base).push-type.")
  }

  private static func owners(of topic: String, _ apps: [AppConfiguration]) -> [AppConfiguration] {
    let exact = apps.filter { $0.topic == topic }
    if !exact.isEmpty { return exact }
    let derived = apps.filter { $0.topic.map { isDerived(topic, from: $0) } ?? false }
    let longest = derived.compactMap(\.topic?.count).max()
    return derived.filter { $0.topic?.count == longest }
  }

  private static func owners(
    ofBundle bundle: String, _ apps: [AppConfiguration]
  ) -> [AppConfiguration] {
    if bundle.contains(".push-type.") { return [] }
    let exact = apps.filter { $0.topic == bundle }
    if !exact.isEmpty { return exact }
    return apps.filter { $0.topic.map { isDerived($0, from: bundle) } ?? false }
  }

  @Test func namesAndTopics() {
    var found = (owners: 0, ofBundles: 0)
    for _ in 0..<500 {
      let all = Self.apps()
      let apps = ServedApps(all)
      #expect(apps.all == all)
      for number in 0...all.count {
        #expect(apps["app-\(number)"] == all.first { $0.name == "app-\(number)" })
      }
      for topic in (0..<20).map({ _ in Self.topic() }) {
        let (owners, ofBundle) = (Self.owners(of: topic, all), Self.owners(ofBundle: topic, all))
        #expect(apps.with(topic: topic) == all.filter { $0.topic == topic }, "\(topic)")
        #expect(apps.owners(of: topic) == owners, "\(topic)")
        #expect(apps.owners(ofBundle: topic) == ofBundle, "\(topic)")
        found.owners += owners.isEmpty || owners[0].topic == topic ? 0 : 1
        found.ofBundles += ofBundle.isEmpty || ofBundle[0].topic == topic ? 0 : 1
      }
    }
    #expect(found.owners > 50)
    #expect(found.ofBundles > 50)
  }
}
