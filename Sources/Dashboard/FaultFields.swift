import JSON
import Simulator

/// All faults as JSON, from which the page draws its switches.
enum FaultFields {
  static let json: String = {
    let groups = FaultField.groups.map { group in
      let fields = group.fields.map { field in
        """
        {"name":"\(field.name)","value":\(JSONLiteral.string(field.value)),\
        "text":\(JSONLiteral.string(field.text))}
        """
      }
      return """
        {"title":\(JSONLiteral.string(group.title)),"fields":[\(fields.joined(separator: ","))]}
        """
    }
    return "{\"groups\":[\(groups.joined(separator: ","))]}"
  }()
}
