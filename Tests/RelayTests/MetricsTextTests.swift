import Testing

@testable import Relay

@Suite struct MetricsTextTests {
  @Test func theSamplesOfSeveralAppsAreOneFamily() {
    func metrics(_ label: String) -> String {
      """
      # HELP apns_notifications_queued_total So many.
      # TYPE apns_notifications_queued_total counter
      apns_notifications_queued_total{\(label)} 7
      # HELP apns_response_duration_seconds Time.
      # TYPE apns_response_duration_seconds histogram
      apns_response_duration_seconds_bucket{\(label),le="0.001"} 3
      apns_response_duration_seconds_sum{\(label)} 0.5

      """
    }
    var all = MetricsText()
    all.merge(metrics(MetricsLabels.text([("app", "a\"b")])))
    all.merge(metrics(MetricsLabels.text([("app", "c")])))
    #expect(
      all.text == """
        # HELP apns_notifications_queued_total So many.
        # TYPE apns_notifications_queued_total counter
        apns_notifications_queued_total{app="a\\"b"} 7
        apns_notifications_queued_total{app="c"} 7
        # HELP apns_response_duration_seconds Time.
        # TYPE apns_response_duration_seconds histogram
        apns_response_duration_seconds_bucket{app="a\\"b",le="0.001"} 3
        apns_response_duration_seconds_sum{app="a\\"b"} 0.5
        apns_response_duration_seconds_bucket{app="c",le="0.001"} 3
        apns_response_duration_seconds_sum{app="c"} 0.5

        """)
  }
}
