import Testing

@testable import Relay

@Suite struct MetricsTextTests {
  @Test func theSamplesOfSeveralAppsAreOneFamily() {
    let one = """
      # HELP apns_taken_total So many.
      # TYPE apns_taken_total counter
      apns_taken_total 7
      # HELP apns_answer_seconds Time.
      # TYPE apns_answer_seconds histogram
      apns_answer_seconds_bucket{le="0.001"} 3
      apns_answer_seconds_sum 0.5

      """
    var all = MetricsText()
    all.merge(one, label: ("app", "a\"b"))
    all.merge(one, label: ("app", "c"))
    #expect(
      all.text == """
        # HELP apns_taken_total So many.
        # TYPE apns_taken_total counter
        apns_taken_total{app="a\\"b"} 7
        apns_taken_total{app="c"} 7
        # HELP apns_answer_seconds Time.
        # TYPE apns_answer_seconds histogram
        apns_answer_seconds_bucket{app="a\\"b",le="0.001"} 3
        apns_answer_seconds_sum{app="a\\"b"} 0.5
        apns_answer_seconds_bucket{app="c",le="0.001"} 3
        apns_answer_seconds_sum{app="c"} 0.5

        """)
  }
}
