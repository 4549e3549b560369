import Gateway

/// Every fault there is, as the page draws its switches.
enum FaultFields {
  static let json: String = {
    let groups = FaultField.groups.map { group in
      let fields = group.fields.map { field in
        """
        {"name":"\(field.name)","value":\(JSONText.string(field.value)),\
        "text":\(JSONText.string(field.text))}
        """
      }
      return """
        {"title":\(JSONText.string(group.title)),"fields":[\(fields.joined(separator: ","))]}
        """
    }
    return "{\"groups\":[\(groups.joined(separator: ","))]}"
  }()
}
