import Simulator

/// The help text about faults and the control API.
enum FaultText {
  static var list: String {
    FaultField.groups.map { group in
      "  \(group.title):\n\n"
        + group.fields.map { HelpEntry.text("\($0.name)=\($0.value)", $0.text) }.joined(
          separator: "\n")
    }.joined(separator: "\n\n")
  }

  static var control: String {
    ControlRoute.all.map { route in
      let path = route.path.replacing("{number}", with: "N")
      return HelpEntry.text("\(route.method) \(path)\(route.query)", route.text)
    }.joined(separator: "\n")
  }
}
