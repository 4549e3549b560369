/// Labels in Prometheus' text format.
enum MetricsLabels {
  static func text(_ labels: [(String, String)]) -> String {
    labels.map { "\($0.0)=\"\(escaped($0.1))\"" }.joined(separator: ",")
  }

  private static func escaped(_ text: String) -> String {
    text.map { $0 == "\\" ? "\\\\" : $0 == "\"" ? "\\\"" : $0 == "\n" ? "\\n" : "\($0)" }.joined()
  }
}
